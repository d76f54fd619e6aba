// "Before you read on": a question takes the reader's answer before it shows its own, and says both.
// In a page it is <div class="jc-commit" data-name="05-ring" data-answer="0.25" data-tolerance="0.005">
// for a number, or with data-options="wider|narrower" for buttons. Kept in this browser, never sent.
// All that follows, up to <div class="jc-told"></div>, is veiled until it is answered.
poeLive.commit = (() => {
  const SPACE = "judging-guess:";
  const keep = {
    get: (name) => {
      try {
        return localStorage.getItem(SPACE + name);
      } catch {
        return null; // a browser that keeps nothing: the question is asked again next time
      }
    },
    set: (name, value) => {
      try {
        if (value === null) localStorage.removeItem(SPACE + name);
        else localStorage.setItem(SPACE + name, value);
      } catch { /* it works without */ }
    },
  };
  const SKIPPED = "\u0000";

  // "0,25", "\u22120.25", ".25", "25 %" and "1/4" are numbers too. Where the unit is per cent, "25%" is 25.
  const toNumber = (text, unit) => {
    const plain = text.replace(/\s/g, "").replace(/[\u2212\u2013]/g, "-").replace(",", ".");
    const [, numerator, , denominator, percent] = /^([+-]?(\d+\.?\d*|\.\d+))(?:\/(\d+\.?\d*|\.\d+))?(%?)$/.exec(plain) || [];
    return (Number(numerator) / Number(denominator ?? 1)) / (percent && unit !== "%" ? 100 : 1);
  };
  const right = (said, { answer, tolerance, options, unit }) =>
    options ? said === answer : Math.abs(toNumber(said, unit) - Number(answer)) <= Number(tolerance || 0) + 1e-9;
  const both = (said, data) => {
    const unit = data.unit || "";
    const [yours, ours] = data.options ? [`“${said}”`, `“${data.answer}”`] : [(unit === "%" ? said.replace(/\s*%$/, "") : said) + unit, data.answer.replace("-", "\u2212") + unit];
    return right(said, data) ? `You said ${yours}, and so it is.` : `You said ${yours}; it is ${ours}.`;
  };

  // What stands between a question and its end mark, in pieces with one parent each: an answer may
  // begin in one section and end in the next.
  const between = (question) => {
    const follows = (one) => question.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
    const mark = [...document.querySelectorAll(".jc-told")].find(follows);
    const pieces = [];
    const gather = (first) => {
      const piece = [];
      let one = first;
      for (; one && !one.contains(mark); one = one.nextElementSibling) piece.push(one);
      if (piece.length) pieces.push(piece);
      return one;
    };
    if (!mark) return pieces;
    let at = question;
    let last = gather(at.nextElementSibling);
    while (!last) last = gather((at = at.parentElement).nextElementSibling);
    while (last !== mark) last = gather(last.firstElementChild);
    return pieces;
  };

  // A veil over what follows a question, and on it the way to lift it.
  const veil = (question, show) => {
    const { html } = poeLive.kit;
    let veils = [];
    const lift = () => {
      veils.forEach((one) => {
        one.querySelector(":scope > .jc-over").remove();
        one.replaceWith(...one.childNodes);
      });
      veils = [];
    };
    const drop = () => {
      lift();
      veils = between(question).map((piece) => {
        const one = html("div", { class: "jc-veiled" });
        piece[0].before(one);
        const over = html("div", { class: "jc-over" }, one); // in which the button stays, however one scrolls
        html("button", { type: "button", class: "jc-lift" }, over, "Answer, or show it");
        one.append(...piece);
        one.addEventListener("click", (event) => {
          event.preventDefault();
          show();
        });
        return one;
      });
    };
    // Of a section that begins behind the veil the heading is hidden.
    const hides = (element) =>
      veils.some((one) => one.contains(element) || one.contains(element.querySelector("h1, h2, h3, h4") || document));
    const marked = () => veils.some((one) => one.querySelector(".highlighted"));
    return { lift, drop, hides, marked };
  };

  const build = (place, report) => {
    const { html } = poeLive.kit;
    const data = place.dataset;
    const question = place.closest(".admonition") || place;
    const box = html("div", { class: "jc-commit-box", role: "group", "aria-label": "Your answer" });
    place.replaceChildren(box);
    let said = null;
    const cover = veil(question, () => commit(SKIPPED));

    const ask = () => {
      box.replaceChildren();
      cover.drop();
      if (data.options) {
        data.options.split("|").forEach((text) =>
          html("button", { type: "button" }, box, text).addEventListener("click", () => commit(text)));
      } else {
        const label = html("label", {}, box, `${data.ask || "Your number"} `);
        const input = html("input", { type: "text", inputmode: "decimal", autocomplete: "off", size: 8 }, label);
        if (data.unit) label.append(data.unit);
        const send = () => {
          const sound = Number.isFinite(toNumber(input.value, data.unit));
          input.setAttribute("aria-invalid", !sound);
          told.textContent = sound ? "" : "A number, please.";
          if (sound) commit(input.value.trim());
          else input.focus();
        };
        input.addEventListener("keydown", (event) => event.key === "Enter" && send());
        html("button", { type: "button" }, box, "That is my answer").addEventListener("click", send);
        const told = html("span", { role: "status" }, box);
      }
      html("button", { type: "button", class: "jc-skip" }, box, "show it").addEventListener("click", () => commit(SKIPPED));
    };
    const show = (focus) => {
      cover.lift();
      box.replaceChildren();
      const words = said === SKIPPED ? "Shown; read on." : both(said, data);
      const line = html("p", { class: "jc-said", tabindex: -1 }, box, words);
      html("button", { type: "button", class: "jc-skip" }, box, "ask me again").addEventListener("click", () => {
        said = null;
        keep.set(data.name, null);
        ask();
        report();
        box.querySelector("input, button").focus();
      });
      if (focus) line.focus({ preventScroll: true });
    };
    const commit = (text) => {
      said = text;
      keep.set(data.name, text);
      show(true);
      report();
    };
    const kept = keep.get(data.name);
    const known = kept !== null && (kept === SKIPPED || (data.options ? data.options.split("|").includes(kept) : Number.isFinite(toNumber(kept, data.unit))));
    if (known) {
      said = kept;
      show(false);
    } else ask();
    return { data, said: () => (said === SKIPPED ? null : said), cover };
  };

  // At the end of a chapter: how the reader guessed.
  const start = () => {
    const places = [...document.querySelectorAll(".jc-commit")];
    if (!places.length) return;
    const { html } = poeLive.kit;
    let questions = [];
    const board = html("div", { class: "jc-guesses", role: "status" });
    board.hidden = true;
    const report = () => {
      const told = questions.filter((one) => one.said() !== null);
      board.hidden = told.length === 0;
      board.replaceChildren();
      const hits = told.filter((one) => right(one.said(), one.data)).length;
      html("p", {}, board, `How you guessed: ${hits} of ${told.length} right${told.length < questions.length ? `; ${questions.length - told.length} of this page’s questions you did not answer` : ""}.`);
      const list = html("ul", {}, board);
      told.forEach((one) => html("li", {}, list, both(one.said(), one.data)));
    };
    questions = places.map((place) => build(place, report));
    (document.querySelector("article.bd-article") || document.body).append(board);
    report();

    // Who was sent to a place, or found a word there, wants to see it: the question can still be answered.
    const reveal = (hash) => {
      const id = decodeURIComponent(hash.slice(1));
      const target = document.getElementById(id) || document.getElementById(id.split("--")[0]);
      const covers = questions.map((one) => one.cover).filter((cover) => target && cover.hides(target));
      covers.forEach((cover) => cover.lift());
      if (covers.length) target.scrollIntoView();
    };
    reveal(location.hash);
    window.addEventListener("hashchange", () => reveal(location.hash));
    // A second press of the same link changes no address.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='#']");
      if (link && link.hash === location.hash) reveal(link.hash);
    });
    window.addEventListener("load", () => questions.filter((one) => one.cover.marked()).forEach((one) => one.cover.lift()));
  };
  document.addEventListener("DOMContentLoaded", start);
  return { toNumber, right, both };
})();

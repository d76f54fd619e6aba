// "Before you read on": a question takes the reader's answer before it shows its own, and says both.
// In a page it is <div class="jc-commit" data-name="05-ring" data-answer="0.25" data-tolerance="0.005">
// for a number, or with data-options="wider|narrower" for buttons. Kept in this browser, never sent.
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

  // "0,25", "\u22120.25", "25 %" and "1/4" are numbers too.
  const toNumber = (text) => {
    const plain = text.trim().replace(/\u2212/g, "-").replace(",", ".").replace(/\s*%$/, "");
    const parts = /^(-?\d+(?:\.\d+)?)\s*\/\s*(\d+(?:\.\d+)?)$/.exec(plain);
    if (parts) return Number(parts[1]) / Number(parts[2]);
    return plain === "" ? NaN : Number(plain);
  };
  const right = (said, { answer, tolerance, options }) =>
    options ? said === answer : Math.abs(toNumber(said) - Number(answer)) <= Number(tolerance || 0) + 1e-9;
  const both = (said, data) => {
    const unit = data.unit || "";
    const [yours, ours] = data.options ? [`“${said}”`, `“${data.answer}”`] : [said + unit, data.answer.replace("-", "\u2212") + unit];
    return right(said, data) ? `You said ${yours}, and so it is.` : `You said ${yours}; it is ${ours}.`;
  };

  const build = (place, report) => {
    const { html } = poeLive.kit;
    const data = place.dataset;
    const question = place.closest(".admonition") || place;
    const next = question.nextElementSibling;
    const covered = next && !/^(SECTION|H\d)$/.test(next.tagName) ? next : null;
    const box = html("div", { class: "jc-commit-box", role: "group", "aria-label": "Your answer" });
    place.replaceChildren(box);
    let said = null;
    const lift = () => covered?.classList.remove("jc-veiled");

    const ask = () => {
      box.replaceChildren();
      covered?.classList.add("jc-veiled");
      if (data.options) {
        data.options.split("|").forEach((text) =>
          html("button", { type: "button" }, box, text).addEventListener("click", () => commit(text)));
      } else {
        const label = html("label", {}, box, `${data.ask || "Your number"} `);
        const input = html("input", { type: "text", inputmode: "decimal", autocomplete: "off", size: 8 }, label);
        if (data.unit) label.append(data.unit);
        const send = () => {
          const sound = Number.isFinite(toNumber(input.value));
          input.setAttribute("aria-invalid", !sound);
          if (sound) commit(input.value.trim());
          else input.focus();
        };
        input.addEventListener("keydown", (event) => event.key === "Enter" && send());
        html("button", { type: "button" }, box, "That is my answer").addEventListener("click", send);
      }
      html("button", { type: "button", class: "jc-skip" }, box, "skip").addEventListener("click", () => commit(SKIPPED));
    };
    const show = (focus) => {
      lift();
      box.replaceChildren();
      const words = said === SKIPPED ? "Skipped; read on." : both(said, data);
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
    covered?.addEventListener("click", () => {
      if (covered.classList.contains("jc-veiled")) commit(SKIPPED);
    });

    const kept = keep.get(data.name);
    const known = kept !== null && (kept === SKIPPED || (data.options ? data.options.split("|").includes(kept) : Number.isFinite(toNumber(kept))));
    if (known) {
      said = kept;
      show(false);
    } else ask();
    return { data, said: () => (said === SKIPPED ? null : said), asked: () => said !== null };
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
  };
  document.addEventListener("DOMContentLoaded", start);
  return { toNumber, right, both };
})();

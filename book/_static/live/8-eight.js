// The page "Rank eight things of your own". Nothing leaves the browser. Mathematics: 1-rails.js.
(() => {
  const { draw, fixed, html, signed } = poeLive.kit;
  const { contradiction, fromCsv, joined, nextPair, parts, rank, rankParts, toCsv } = poeLive.rails;
  const { code, expanded, rankRoom } = poeLive.room;

  const FILMS = ["Alien", "Amélie", "Casablanca", "Heat", "Jaws", "Spirited Away", "The Matrix", "Tootsie"];
  const [FEWEST, MOST, LONGEST] = [3, 12, 40]; // things, things, letters of a name
  const [CLEARLY, A_LITTLE] = [0.8, 0.6];
  const KEPT = "judging-eight";
  const PREFIX = "#eight--";
  // Fallbacks for a picture that has left the page and its colours.
  const INK = "var(--pst-color-text-base, #222832)";
  const MUTED = "var(--pst-color-text-muted, #48566b)";
  const PAPER = "var(--pst-color-background, #ffffff)";
  const HUES = ["#0072b2", "#b84e00", "#007a58", "#a8507f"].map((hex, k) => `var(--live-${k}, ${hex})`);

  const short = (name, letters = 14) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
  const toNames = (text) =>
    [...new Set(text.split(/\r?\n|;/).map((line) => line.trim().slice(0, LONGEST)).filter(Boolean))].slice(0, MOST);

  // What makes one's order of questions one's own; an answer's file names it as who answered.
  const seedling = () => crypto.getRandomValues(new Uint32Array(1))[0];
  const judge = (seed) => `p${seed.toString(36)}`;

  const recall = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(KEPT));
      const sound = Array.isArray(kept?.names) && kept.names.every((name) => typeof name === "string")
        && kept.names.length >= FEWEST && kept.names.length <= MOST && Array.isArray(kept.answers)
        && kept.answers.every(({ first, second, p }) => kept.names[first] && kept.names[second] && first !== second && p >= 0 && p <= 1);
      return sound ? { seed: seedling(), ...kept } : null;
    } catch {
      return null; // nothing kept, or a browser that keeps nothing
    }
  };
  const keep = (state) => {
    try {
      if (state) localStorage.setItem(KEPT, JSON.stringify(state));
      else localStorage.removeItem(KEPT);
    } catch { /* it works without */ }
  };

  // Names in an address, so that a class can be given the same things to rank.
  const pack = (names) =>
    btoa(String.fromCharCode(...new TextEncoder().encode(names.join("\n")))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const unpack = (address) => {
    if (!address.startsWith(PREFIX)) return null;
    try {
      const bytes = atob(address.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
      const names = toNames(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
      return names.length >= FEWEST ? names : null;
    } catch {
      return null;
    }
  };

  // A file of a spreadsheet may be in the letters of an older Windows.
  const readFile = async (file) => {
    const bytes = await file.arrayBuffer();
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return new TextDecoder("windows-1252").decode(bytes);
    }
  };

  // ---- The rails, as a picture that can be saved ----------------------------------------------
  const chart = (svg, { names, scores, found = null, pairs, next = null, title }) => {
    const n = names.length;
    const height = Math.max(260, 60 + 30 * n);
    const [left, right, top, bottom] = [146, 350, 36, height - 24];
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 360 ${height}`);
    const half = found ? found.errors.map((e) => found.reach * e) : names.map(() => 0);
    const reach = Math.max(0.35, ...scores.map((s, i) => Math.abs(s) + half[i])) * 1.04;
    const y = (s) => top + ((reach - s) / (2 * reach)) * (bottom - top);
    const text = (x, at, words, style, anchor = "start") =>
      draw(svg, "text", { x, y: at, "text-anchor": anchor, style: `font-family: sans-serif; ${style}` }, words);
    text(6, 18, title, `font-size: 13.5px; font-weight: 600; fill: ${INK}`);
    const order = scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a]);
    const tags = scores.map((s) => y(s));
    for (let sweep = 0; sweep < 80; sweep++) {
      for (let k = 1; k < n; k++) {
        const [a, b] = [order[k - 1], order[k]];
        const over = 22 - (tags[b] - tags[a]);
        if (over > 0) {
          tags[a] -= over / 2;
          tags[b] += over / 2;
        }
      }
    }
    // All of them inside the picture.
    const down = Math.max(0, top - tags[order[0]]) - Math.max(0, tags[order[n - 1]] - bottom);
    const column = (i) => left + 14 + ((right - left - 28) * order.indexOf(i)) / Math.max(1, n - 1);
    names.forEach((name, i) => {
      const hue = HUES[i % HUES.length];
      const lit = next && (next.first === i || next.second === i);
      const [at, tag] = [y(scores[i]), tags[i] + down];
      draw(svg, "line", { x1: left, x2: right, y1: at, y2: at, style: `stroke: ${hue}; stroke-width: ${lit ? 3 : 1.6}; stroke-opacity: ${lit ? 1 : 0.75}` });
      draw(svg, "line", { x1: 128, x2: left, y1: tag, y2: at, style: `stroke: ${hue}; stroke-opacity: 0.6` });
      if (found) {
        const x = column(i);
        draw(svg, "line", { x1: x, x2: x, y1: y(scores[i] - half[i]), y2: y(scores[i] + half[i]), style: `stroke: ${hue}; stroke-width: 7; stroke-opacity: 0.35; stroke-linecap: round` });
        draw(svg, "circle", { cx: x, cy: at, r: 4.5, style: `fill: ${hue}` });
      }
      draw(svg, "rect", { x: 4, y: tag - 10, width: 124, height: 20, rx: 4, style: `fill: ${hue}; stroke: ${lit ? INK : "none"}; stroke-width: 2.5` });
      text(10, tag + 4.5, short(name), `font-size: 13.2px; font-weight: 600; fill: ${PAPER}`);
    });
    text(350, height - 6, `${pairs} answer${pairs === 1 ? "" : "s"}${found ? "; bars: 95% intervals" : ""}`, `font-size: 13.2px; fill: ${MUTED}`, "end");
    return order;
  };

  const save = (blob, name) => {
    const address = URL.createObjectURL(blob);
    const link = html("a", { href: address, download: name }, document.body);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 2000);
  };
  const standalone = (svg) => {
    const copy = svg.cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ");
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.removeAttribute("class");
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    Object.entries({ width, height, fill: "#ffffff" }).forEach(([key, value]) => ground.setAttribute(key, value));
    copy.prepend(ground);
    return new XMLSerializer().serializeToString(copy);
  };
  const savePicture = (svg, kind) => {
    const source = standalone(svg);
    if (kind === "svg") return save(new Blob([source], { type: "image/svg+xml" }), "ranking.svg");
    const image = new Image();
    image.onload = () => {
      const canvas = html("canvas", { width: 3 * image.width, height: 3 * image.height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => blob && save(blob, "ranking.png"));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
    return undefined;
  };

  poeLive.figures["fig-live-eight"] = (box) => {
    box.replaceChildren();
    const root = html("div", { class: "live live-eight", role: "group", "aria-label": "Rank things of your own" }, box);
    let names = [];
    let answers = [];
    let seed = seedling();
    const remember = () => keep(names.length ? { names, answers, seed } : null);

    // ---- First: names -------------------------------------------------------------------------
    const naming = html("form", { class: "live-naming" }, root);
    html("label", { for: "eight-names" }, naming, "Eight things, one per line: films, slogans, three abstracts");
    const area = html("textarea", { id: "eight-names", rows: 8, maxlength: 600, spellcheck: "false" }, naming);
    const row = html("div", { class: "live-controls" }, naming);
    html("button", { type: "submit", class: "live-go" }, row, "Start");
    const films = html("button", { type: "button" }, row, "Use eight films");
    const trouble = html("p", { class: "live-trouble", role: "status" }, naming);
    films.addEventListener("click", () => (area.value = FILMS.join("\n")));
    naming.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = toNames(area.value);
      if (given.length < FEWEST) {
        trouble.textContent = `Please give at least ${FEWEST} different names, one per line.`;
        return;
      }
      names = given;
      answers = [];
      seed = seedling();
      trouble.textContent = "";
      update({ focus: true });
    });

    // ---- Then: questions ----------------------------------------------------------------------
    const asking = html("div", { class: "live-asking" }, root);
    const question = html("p", { class: "live-question", "aria-live": "polite" }, asking);
    const cards = html("div", { class: "live-cards" }, asking);
    const card = [0, 1].map(() => {
      const one = html("div", {}, cards);
      const big = html("button", { type: "button", class: "live-card" }, one);
      const little = html("button", { type: "button" }, one, "a little better");
      return { big, little };
    });
    const even = html("button", { type: "button", class: "live-even" }, asking, "No difference");
    const svg = draw(asking, "svg", { role: "img", "aria-labelledby": "eight-says", class: "live-picture" });
    const says = html("p", { class: "live-says", id: "eight-says", "aria-live": "polite" }, asking);
    const conflict = html("p", { class: "live-conflict" }, asking);
    const tools = html("div", { class: "live-controls" }, asking);
    const tool = (text, action) => {
      const press = html("button", { type: "button" }, tools, text);
      press.addEventListener("click", action);
      return press;
    };
    const undo = tool("Take the last answer back", () => {
      answers.pop();
      update();
    });
    tool("Picture (PNG)", () => savePicture(svg, "png"));
    tool("Picture (SVG)", () => savePicture(svg, "svg"));
    const table = () => toCsv(names, answers, judge(seed));
    tool("Answers (CSV)", () => save(new Blob([table()], { type: "text/csv" }), "answers.csv"));
    const copying = (text, copied, wanted, byHand) => {
      const press = tool(text, () => {
        const told = (words) => (press.textContent = words);
        const otherwise = () => told(byHand());
        if (navigator.clipboard) navigator.clipboard.writeText(wanted()).then(() => told(copied), otherwise);
        else otherwise();
        setTimeout(() => told(text), 2500);
      });
    };
    copying("Copy my answers", "Copied", table, () => {
      lines.hidden = false;
      lines.value = table();
      lines.select();
      return "Copy these lines";
    });
    // As short as a message in a chat; the table where the answers are of an older visit.
    copying("Copy a short code", "Copied", () => code(names, answers, seed) ?? table(), () => {
      lines.hidden = false;
      lines.value = code(names, answers, seed) ?? table();
      lines.select();
      return "Copy this line";
    });
    const address = () => location.href.split("#")[0] + PREFIX + pack(names);
    copying("Copy a link with these names", poeLive.address.copied, address, () => {
      try {
        history.replaceState(history.state, "", address());
      } catch { /* a page opened where addresses cannot be changed */ }
      return "It is in the address bar";
    });
    tool("Other things", () => {
      area.value = names.join("\n");
      names = [];
      answers = [];
      update();
      area.focus();
    });
    const lines = html("textarea", { readonly: "", rows: 6, hidden: "", "aria-label": "My answers" }, asking);

    const answer = (p) => {
      const pair = nextPair(names.length, answers, seed);
      answers.push({ ...pair, p });
      update();
    };
    card[0].big.addEventListener("click", () => answer(CLEARLY));
    card[0].little.addEventListener("click", () => answer(A_LITTLE));
    card[1].big.addEventListener("click", () => answer(Number((1 - CLEARLY).toFixed(2))));
    card[1].little.addEventListener("click", () => answer(Number((1 - A_LITTLE).toFixed(2))));
    even.addEventListener("click", () => answer(0.5));

    const listed = (items) => `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
    const update = ({ focus = false } = {}) => {
      remember();
      lines.hidden = true;
      naming.hidden = names.length > 0;
      asking.hidden = names.length === 0;
      if (!names.length) {
        root.dataset.state = JSON.stringify({ names, comparisons: [] });
        return;
      }
      const n = names.length;
      const next = nextPair(n, answers, seed);
      const enough = n + 4; // a ring, and as many again as make the scatter known
      question.textContent = answers.length < enough
        ? `Question ${answers.length + 1} of about ${enough}: which one is better?`
        : `Question ${answers.length + 1}, if you like: the pair that is known worst.`;
      [next.first, next.second].forEach((i, k) => {
        card[k].big.replaceChildren();
        html("strong", {}, card[k].big, names[i]);
        html("span", {}, card[k].big, "this one");
        card[k].big.setAttribute("aria-label", `${names[i]}: this one`);
        card[k].little.setAttribute("aria-label", `${names[i]} is a little better`);
      });
      undo.disabled = answers.length === 0;
      const whole = joined(n, answers);
      const found = whole ? rank(n, answers) : null;
      const scores = found ? found.scores : rankParts(n, answers);
      const order = chart(svg, { names, scores, found, pairs: answers.length, next, title: whole || !answers.length ? "My ranking" : "My ranking so far" });
      const widest = found ? Math.max(...found.errors) * found.reach : null;
      says.textContent = found
        ? `${order.map((i, k) => `${k + 1} ${names[i]} ${signed(scores[i])}`).join(", ")}. The widest interval is ± ${fixed(widest)}` +
          (found.estimated ? `; your answers scatter by ${fixed(found.sigma)}.` : `, if your answers scatter by ${fixed(found.sigma)}; a few more will tell.`)
        : answers.length
          ? `So far: ${order.map((i) => `${names[i]} ${signed(scores[i])}`).join(", ")}. This is provisional: ${new Set(parts(n, answers)).size} groups are not joined yet, and each stands round its own middle.`
          : "Each answer joins two things, and the ranking begins with the first.";
      const ring = contradiction(n, answers);
      conflict.textContent = ring
        ? `You have contradicted yourself by ${fixed(ring.sum, 1)} round ${listed(ring.ring.map((i) => names[i]))}: you put each before the next, and the last before the first.`
        : found && answers.length > n ? "You have not contradicted yourself so far." : "";
      root.dataset.state = JSON.stringify({ names, comparisons: answers, seed, next, scores, errors: found?.errors ?? null, reach: found?.reach ?? null, sigma: found?.sigma ?? null, contradiction: ring });
      if (focus) card[0].big.focus();
    };

    // ---- For a class --------------------------------------------------------------------------
    const classroom = html("details", { class: "live-class" }, root);
    html("summary", {}, classroom, "For a class: everybody’s answers together");
    html("label", { for: "eight-class" }, classroom, "Paste everybody’s codes or the lines of their CSV, one after another");
    const pasted = html("textarea", { id: "eight-class", rows: 6, spellcheck: "false", placeholder: "first,second,p,judge\nAlien,Heat,0.8,p7" }, classroom);
    html("label", { for: "eight-files" }, classroom, "or choose all their files at once");
    const chosen = html("input", { id: "eight-files", type: "file", multiple: "", accept: ".csv,.txt,text/csv" }, classroom);
    chosen.addEventListener("change", async () => {
      pasted.value = (await Promise.all([...chosen.files].map(readFile))).join("\n");
      chosen.value = ""; // or the same files could not be chosen again
      together.click();
    });
    const together = html("button", { type: "button" }, html("div", { class: "live-controls" }, classroom), "Rank them together");
    const result = draw(classroom, "svg", { role: "img", "aria-labelledby": "eight-class-says", class: "live-picture" });
    const outcome = html("p", { class: "live-says", id: "eight-class-says", "aria-live": "polite" }, classroom);
    const classTools = html("div", { class: "live-controls" }, classroom);
    [["Picture (PNG)", "png"], ["Picture (SVG)", "svg"]].forEach(([text, kind]) =>
      html("button", { type: "button" }, classTools, text).addEventListener("click", () => savePicture(result, kind)));
    let all = "";
    html("button", { type: "button" }, classTools, "All answers (CSV)")
      .addEventListener("click", () => save(new Blob([all], { type: "text/csv" }), "class.csv"));
    const showClass = (shown) => {
      result.style.display = shown ? "" : "none";
      classTools.hidden = !shown;
    };
    showClass(false);
    together.addEventListener("click", () => {
      const table = fromCsv(expanded(pasted.value, names));
      const n = table.names.length;
      const left = table.refused ? ` ${table.refused} ${table.refused === 1 ? "line was no answer and was" : "lines were no answers and were"} left out. Codes are read only where their names have been opened.` : "";
      showClass(false);
      delete classroom.dataset.state;
      if (n < 2 || n > 60 || !joined(n, table.comparisons)) {
        outcome.textContent = (n < 2 ? "There is no answer here yet: a line is a name, a name and a number between 0 and 1, with commas between."
          : n > 60 ? "These are more than sixty different names; the command judging rank can take them."
            : "Some of these things were never compared with the others, so they cannot be ranked together.") + left;
        return;
      }
      const apart = rankRoom(n, table.comparisons, table.judges);
      const found = apart ?? rank(n, table.comparisons);
      const order = chart(result, { names: table.names, scores: found.scores, found, pairs: table.comparisons.length, title: "Our ranking" });
      showClass(true);
      const ring = contradiction(n, table.comparisons);
      const by = table.people > 1 ? ` of ${table.people} people` : "";
      outcome.textContent = `${table.comparisons.length} answers${by} about ${n} things: ${order.map((i, k) => `${k + 1} ${table.names[i]}`).join(", ")}.` +
        (ring ? ` Together you contradict yourselves by ${fixed(ring.sum, 1)} round ${listed(ring.ring.map((i) => table.names[i]))}.` : "") +
        (apart ? " The bars know who said what: people differ." : "") + left;
      all = toCsv(table.names, table.comparisons, table.judges);
      classroom.dataset.state = JSON.stringify({ names: table.names, comparisons: table.comparisons, people: table.people, scores: found.scores, errors: found.errors });
    });

    const given = unpack(location.hash);
    const kept = recall();
    if (given && !(kept && given.join("\n") === kept.names.join("\n"))) names = given;
    else if (kept) ({ names, answers, seed } = kept);
    update();
  };
})();

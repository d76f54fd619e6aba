// The live figure that opens chapter 1: eight shades are graded one at a time, then compared two at a time.
// Nothing leaves the browser. A game fits in a word: seed, forecast, marks and answers, "k3f9_c_45467a35_c0lo7".
// Scores from comparisons are least squares (Gaussian experts, book eq. 6.4), as on the page "Rank eight".
(() => {
  const { draw, fixed, frame, html } = poeLive.kit;
  const { gaussian } = poeLive.mathematics;
  const { nextPair, shuffled } = poeLive.rails;
  const [SHADES, PAIRS, MARKS] = [8, 12, 10];
  const ALL = (SHADES * (SHADES - 1)) / 2;
  const REST = 500; // milliseconds of bare ground, or the last shade would be a comparison for the next
  const SAID = [0.2, 0.4, 0.6, 0.8]; // p that the left one is darker, much or a little, as on "Rank eight"
  const CODE = /[0-9a-z]{4}_[cge]_[1-9a]{8}_[9a-j][0-9a-z]{4}/g;
  const FORECASTS = { c: "my comparisons", g: "my grades", e: "about the same" };
  const shade = (k) => `hsl(210, 45%, ${59.5 - 2.5 * k}%)`; // 0 is the lightest, 7 the darkest
  const begin = () => ({ seed: null, forecast: "", marks: [], answers: [] });

  // ---- A game as words of an address -----------------------------------------------------------
  const words = ({ seed, forecast, marks, answers }) => seed === null ? ["new"] : [
    seed.toString(36).padStart(4, "0"), forecast, marks.map((mark) => mark.toString(36)).join(""),
    parseInt(`1${answers.join("")}`, 4).toString(36), // the 1 keeps zeros in front
  ];
  const game = (given) => {
    if (given.join() === "new") return begin();
    const [seed, forecast, marks, answers] = given;
    if (given.length !== 4 || !/^[0-9a-z]{4}_[cge]_[1-9a]{0,8}_[1-9a-z][0-9a-z]{0,4}$/.test(given.join("_"))) return null;
    const [lead, ...said] = parseInt(answers, 36).toString(4);
    if (lead !== "1" || said.length > PAIRS || (said.length && marks.length < SHADES)) return null;
    return { seed: parseInt(seed, 36), forecast, marks: [...marks].map((mark) => parseInt(mark, 36)), answers: said.map(Number) };
  };

  // ---- What came of it -------------------------------------------------------------------------
  const orderOf = ({ seed }) => shuffled(SHADES, seed + 1);
  const asked = ({ seed, answers }) =>
    answers.reduce((sofar, said) => [...sofar, { ...nextPair(SHADES, sofar, seed), p: SAID[said] }], []);
  const marksOf = (one) => {
    const marks = Array(SHADES).fill(null);
    one.marks.forEach((mark, k) => (marks[orderOf(one)[k]] = mark));
    return marks;
  };
  // Of all pairs of shades: how many in the right order, how many level, and how many the wrong way round.
  const agreement = (values) => {
    const found = { wrong: 0, tied: 0 };
    values.forEach((high, j) => values.slice(0, j).forEach((low) => {
      if (Math.abs(high - low) < 1e-9) found.tied += 1;
      else if (high < low) found.wrong += 1;
    }));
    return { ...found, right: ALL - found.wrong - found.tied / 2 };
  };
  const outcome = (one) => {
    const [comparisons, marks] = [asked(one), marksOf(one)];
    const { scores } = gaussian(SHADES, comparisons);
    const [grades, compared] = [agreement(marks), agreement(scores)];
    const lead = compared.right - grades.right;
    const came = Math.abs(lead) <= 1 ? "e" : lead > 0 ? "c" : "g";
    const equal = agreement(gaussian(SHADES, comparisons.slice(0, SHADES)).scores).right;
    return { comparisons, marks, scores, grades, compared, equal, came };
  };
  const half = (count) => `${Math.floor(count) || (count ? "" : 0)}${count % 1 ? "½" : ""}`;
  const faults = ({ wrong, tied }) => `${wrong} the wrong way round and ${tied} level`;
  const verdict = (one, { grades, compared, equal, came, comparisons }) => {
    const hits = comparisons.filter(({ first, second, p }) => (first > second) === (p > 0.5)).length;
    const said = one.forecast === came ? `You said “${FORECASTS[came]}”, and so it is` : `You said “${FORECASTS[one.forecast]}”; it is “${FORECASTS[came]}”`;
    return `Of the ${ALL} pairs of shades your grades put ${half(grades.right)} in the right order and your comparisons ${half(compared.right)}, where a tie counts as half. ` +
      `${said}, because grading left ${faults(grades)}, and comparing ${faults(compared)}. Of your ${PAIRS} answers ${hits} were right. ` +
      `Your first ${SHADES} comparisons alone, as many as your grades, put ${half(equal)} pairs in the right order.`;
  };

  // ---- The picture: rows of shades from the lightest to the darkest, crossings where a row is wrong ---
  const [LEFT, WIDE, TALL] = [72, 36, 32];
  const place = (k) => LEFT + WIDE * k;
  const row = (svg, { values, top, name, right, tags, tip, truth }) => {
    const sorted = values.map((_, k) => k).sort((a, b) => (Math.abs(values[a] - values[b]) < 1e-9 ? a - b : values[a] - values[b]));
    draw(svg, "text", { x: 2, y: top + 13, class: "live-label" }, name);
    draw(svg, "text", { x: 2, y: top + 29, class: "live-tick" }, right);
    sorted.forEach((k, at) => {
      draw(svg, "line", { x1: place(at) + WIDE / 2, y1: tip, x2: place(k) + WIDE / 2, y2: truth, class: "live-force-line" });
      draw(svg, "rect", { x: place(at), y: top, width: WIDE, height: TALL, style: `fill: ${shade(k)}` });
      draw(svg, "text", { x: place(at) + WIDE / 2, y: tip === top ? top + TALL + 16 : top - 7, class: "live-tick", "text-anchor": "middle" }, tags(k));
      if (at && Math.abs(values[k] - values[sorted[at - 1]]) < 1e-9) {
        const y = tip === top ? top + TALL + 2 : top - 2;
        draw(svg, "line", { x1: place(at) - WIDE / 2, x2: place(at) + WIDE / 2, y1: y, y2: y, class: "live-floor" });
      }
    });
  };
  const results = (svg, { marks, scores, grades, compared }) => {
    row(svg, { values: marks, top: 24, name: "grades", right: `${half(grades.right)} of ${ALL}`, tags: (k) => marks[k], tip: 24 + TALL, truth: 106 });
    row(svg, { values: scores, top: 188, name: "pairs", right: `${half(compared.right)} of ${ALL}`, tags: (k) => fixed(scores[k], 1), tip: 188, truth: 106 + TALL });
    draw(svg, "text", { x: 2, y: 126, class: "live-label" }, "truth");
    for (let k = 0; k < SHADES; k++) draw(svg, "rect", { x: place(k), y: 106, width: WIDE, height: TALL, style: `fill: ${shade(k)}` });
  };

  poeLive.figures["fig-live-colours"] = (figure) => {
    let one = begin();
    let resting = false;
    let asks = ""; // what the buttons now in the row are for
    const phaseOf = () => one.seed === null ? "forecast" : one.marks.length < SHADES ? "grade" : one.answers.length < PAIRS ? "compare" : "done";

    const next = () => {
      resting = phaseOf() === "grade";
      if (resting) {
        setTimeout(() => {
          resting = false;
          live.update();
        }, REST);
      }
      live.change();
    };
    const acts = {
      forecast: (forecast) => {
        one = { ...begin(), forecast, seed: crypto.getRandomValues(new Uint32Array(1))[0] % 36 ** 4 };
        next();
      },
      grade: (mark) => {
        if (resting) return;
        one.marks.push(mark);
        next();
      },
      compare: (said) => {
        one.answers.push(said);
        next();
      },
    };
    const BUTTONS = {
      forecast: Object.entries(FORECASTS),
      grade: Array.from({ length: MARKS }, (_, k) => [k + 1, String(k + 1)]),
      compare: [[3, "left, much"], [0, "right, much"], [2, "left, a little"], [1, "right, a little"]],
      done: [],
    };

    const redraw = (svg) => {
      const phase = phaseOf();
      const result = phase === "done" ? outcome(one) : null;
      const pair = phase === "compare" ? nextPair(SHADES, asked(one), one.seed) : null;
      const shown = phase === "grade" && !resting ? [orderOf(one)[one.marks.length]] : pair ? [pair.first, pair.second] : [];
      if (result) results(svg, result);
      else {
        draw(svg, "rect", { x: 0, y: 0, width: 360, height: 244, class: "live-ground" });
        if (phase === "forecast") draw(svg, "text", { x: 180, y: 126, class: "live-label live-onground", "text-anchor": "middle" }, "eight shades, then twelve pairs");
        shown.forEach((k, at) =>
          draw(svg, "rect", { x: pair ? 50 + 140 * at : 120, y: 62, width: 120, height: 120, style: `fill: ${shade(k)}` }));
      }
      const question = {
        forecast: `You will grade ${SHADES} shades and then compare ${PAIRS} pairs of them. Which will put more of the shades in the right order?`,
        grade: `Shade ${one.marks.length + 1} of ${SHADES}: how dark is it, from 1 to ${MARKS}?`,
        compare: `Pair ${one.answers.length + 1} of ${PAIRS}: which of the two is darker, and how much?`,
        done: result && verdict(one, result),
      }[phase];
      buttons(phase, question);
      share(result);
      const { seed, forecast } = one;
      return { words: question, state: { phase, seed, forecast, order: seed === null ? null : orderOf(one), marks: marksOf(one), comparisons: asked(one), next: pair, ...result } };
    };
    const more = {
      get: () => words(one),
      set: (given) => {
        const found = game(given);
        if (found) [one, resting] = [found, false];
        return found !== null;
      },
    };
    const live = frame(figure, { label: "Grade eight shades, then compare them", height: 244, redraw, more });
    live.root.classList.add("live-colours");
    const controls = live.root.querySelector(".live-controls");
    const choices = html("div", { class: "live-choices", role: "group" });
    controls.before(choices);
    const buttons = (phase, question) => {
      choices.setAttribute("aria-label", phase === "done" ? "Nothing more is asked" : question);
      if (asks === phase) return;
      const held = choices.contains(document.activeElement);
      asks = choices.dataset.asks = phase;
      choices.replaceChildren();
      BUTTONS[phase].forEach(([value, text]) =>
        html("button", { type: "button" }, choices, text).addEventListener("click", () => acts[phase](value)));
      if (held) (choices.firstChild || code).focus();
    };
    choices.addEventListener("keydown", ({ key, altKey, ctrlKey, metaKey }) => { // a digit presses that button
      if (/^\d$/.test(key) && !altKey && !ctrlKey && !metaKey) choices.children[(Number(key) || MARKS) - 1]?.click();
    });

    // ---- A class's codes ------------------------------------------------------------------------
    const own = html("label", { class: "live-code" });
    html("span", {}, own, "Your code");
    const code = html("input", { readonly: "", size: 22 }, own);
    controls.before(own);
    code.addEventListener("focus", () => code.select());
    const share = (result) => {
      own.hidden = !result;
      code.value = result ? words(one).join("_") : "";
    };
    live.restart(() => {
      [one, resting] = [begin(), false];
    });
    const room = html("details", { class: "live-class" }, live.root);
    html("summary", {}, room, "For a class: everybody’s codes together");
    const pasted = html("textarea", { rows: 4, spellcheck: "false", "aria-label": "Codes or links, in any order" }, room);
    const told = html("p", { role: "status" }, room);
    pasted.addEventListener("input", () => {
      const games = [...new Set(pasted.value.match(CODE))].map((text) => game(text.split("_"))).filter((found) => found?.answers.length === PAIRS);
      const all = games.map(outcome);
      const mean = (read) => all.reduce((sum, result) => sum + read(result), 0) / all.length;
      const [grades, compared] = [mean(({ grades: { right } }) => right), mean(({ compared: { right } }) => right)];
      const count = (ahead) => all.filter((result) => ahead(result.compared.right - result.grades.right)).length;
      const [better, worse] = [count((lead) => lead > 0), count((lead) => lead < 0)];
      const foresaw = games.filter(({ forecast }, k) => forecast === all[k].came).length;
      told.textContent = all.length === 0 ? "Paste the codes of finished games, or their links." :
        `${all.length} ${all.length === 1 ? "game" : "games"}. Of ${ALL} pairs, grades put ${fixed(grades, 1)} in the right order on average, and comparisons ${fixed(compared, 1)}. ` +
        `${better} did better by comparing, ${worse} by grading and ${all.length - better - worse} equally well; ${foresaw} foresaw their own result.`;
      room.dataset.state = JSON.stringify({ games: all.length, grades, compared, better, worse, foresaw });
    });
    live.update();
  };
})();

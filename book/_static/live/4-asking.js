// Live figures about what to ask: chapters 9, 10 and 14.
(() => {
  const { NAMES, axis, draw, firm, fixed, frame, inOrder, joining, path, random, scale, signed } = poeLive.kit;
  const {
    bradleyTerry, laplacian, logDeterminant, logit, luck, mean, pseudoInverse,
    resistance, sigmoid, spearman,
  } = poeLive.mathematics;

  const heat = (p) => (p < 0.5 ? "rgb(0,114,178)" : "rgb(230,159,0)");

  // Chapter 9: a judge that prefers what it is shown first, asked in one order only.
  poeLive.figures["fig-live-bias"] = (figure) => {
    const quality = [0.9, 0.5, 0.1, -0.2, -0.5, -0.8];
    const n = quality.length;
    // Ada and Ben are mostly shown first, the last two mostly second: order and quality are mixed up.
    const asked = [
      [0, 1], [0, 2], [1, 3], [2, 0], [1, 4], [0, 5], [3, 4], [2, 5], [1, 5], [3, 2], [4, 2], [0, 3],
    ];
    let strength, remedy;
    const redraw = (svg) => {
      const b = strength();
      const answer = (i, j) => sigmoid(quality[i] - quality[j] + b);
      const comparisons = asked.map(([first, second]) => ({ first, second, p: answer(first, second) }));
      const both = asked.map(([first, second]) => ({
        first, second, p: (answer(first, second) + 1 - answer(second, first)) / 2,
      }));
      const average = mean(comparisons.map(({ p }) => p));
      const gamma = remedy() === "mean" ? -logit(average) : 0;
      const used = remedy() === "both" ? both : comparisons;
      const { scores } = bradleyTerry(n, used, gamma);
      const [left, cell] = [40, 25];
      for (let i = 0; i < n; i++) {
        const label = { x: left + cell * i + cell / 2, y: 16, class: "live-tick", "text-anchor": "middle" };
        draw(svg, "text", label, NAMES[i][0]);
        draw(svg, "text", { x: left - 6, y: 40 + cell * i, class: "live-tick", "text-anchor": "end" }, NAMES[i]);
        for (let j = 0; j < n; j++) {
          const at = { x: left + cell * j, y: 22 + cell * i, width: cell - 2, height: cell - 2 };
          if (i === j) continue;
          const p = answer(i, j);
          draw(svg, "rect", { ...at, fill: heat(p), "fill-opacity": (0.08 + 1.7 * Math.abs(p - 0.5)).toFixed(3), class: "live-cell" });
          const number = { x: at.x + cell / 2 - 1, y: at.y + 16, class: "live-tiny", "text-anchor": "middle" };
          draw(svg, "text", number, fixed(p).replace("0.", "."));
        }
      }
      draw(svg, "text", { x: 0, y: 206, class: "live-name" }, "row shown first, column second");
      const x = scale([-1.6, 1.6], [218, 352]);
      axis(svg, { x, y: 172, ticks: [-1, 0, 1], digits: 0, name: "score" });
      scores.forEach((score, i) => {
        const y = 34 + cell * i;
        draw(svg, "line", { x1: x(-1.6), x2: x(1.6), y1: y, y2: y, class: "live-rule" });
        draw(svg, "circle", { cx: x(quality[i]), cy: y, r: 5.5, class: "live-hollow" });
        draw(svg, "circle", { cx: x(score), cy: y, r: 4.5, class: "live-dot live-0" });
      });
      const firsts = comparisons.filter(({ p }) => p > 0.5).length + comparisons.filter(({ p }) => p === 0.5).length / 2;
      const agreement = spearman(scores, quality);
      const words =
        `The text shown first wins ${fixed(firsts, 0)} of ${asked.length} decisions; mean p is ${fixed(average)}. ` +
        `Ranking: ${inOrder(scores)}; Spearman correlation with the judge's own opinion ${fixed(agreement)}.`;
      return { words, state: { comparisons: used, gamma, average, scores, agreement } };
    };
    const live = frame(figure, { label: "A judge with a position bias, and three remedies", height: 212, redraw });
    strength = live.slider({ text: "bias (logits)", low: -2, high: 2, step: 0.05, value: 1.25, show: (v) => signed(v) });
    remedy = live.choice({
      text: "remedy",
      value: "none",
      options: [["none", "none"], ["mean", "shift by the mean p"], ["both", "ask in both orders"]],
    });
    live.restart();
    live.update();
  };

  // Chapter 10: every question narrows some differences more than others. A pair is asked by
  // dragging from one text to the other, by tapping both, or (without a pointer) from the list.
  poeLive.figures["fig-live-next"] = (figure) => {
    const n = 7;
    const REACH = 24; // how near a finger must come
    const chain = Array.from({ length: n - 1 }, (_, i) => ({ first: i, second: i + 1 }));
    const least = n - 1;
    let asked = [...chain];
    let draws = random(7);
    let hand; // joins two texts to a pair
    const place = (i) => {
      const angle = (2 * Math.PI * i) / n - Math.PI / 2;
      return [96 + 74 * Math.cos(angle), 100 + 74 * Math.sin(angle)];
    };
    const pairs = [];
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) pairs.push({ first: i, second: j });
    const widths = (comparisons) => resistance(pseudoInverse(laplacian(n, comparisons)));
    const widest = (r) => pairs.reduce((best, pair) =>
      r[pair.first][pair.second] > r[best.first][best.second] + 1e-9 ? pair : best);
    const history = () => {
      const values = [];
      for (let k = least; k <= asked.length; k++) values.push(logDeterminant(n, asked.slice(0, k)));
      return values;
    };
    const greedy = (() => {
      const values = [];
      const path = [...chain];
      for (let k = least; k <= 21; k++) {
        values.push(logDeterminant(n, path));
        path.push(widest(widths(path)));
      }
      return values;
    })();
    const redraw = (svg) => {
      const r = widths(asked);
      const next = widest(r);
      const [a, b] = [place(next.first), place(next.second)];
      draw(svg, "line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: "live-next" });
      const times = {};
      asked.forEach(({ first, second }) => {
        const key = `${Math.min(first, second)}-${Math.max(first, second)}`;
        times[key] = (times[key] || 0) + 1;
      });
      Object.entries(times).forEach(([key, count]) => {
        const [p, q] = key.split("-").map((i) => place(Number(i)));
        draw(svg, "line", { x1: p[0], y1: p[1], x2: q[0], y2: q[1], class: "live-edge", "stroke-width": 1.5 + 1.5 * count });
      });
      for (let i = 0; i < n; i++) {
        const [px, py] = place(i);
        const look = i === hand.held() ? "live-node live-held" : "live-node";
        draw(svg, "circle", { cx: px, cy: py, r: 14, class: look });
        draw(svg, "text", { x: px, y: py + 4.5, class: "live-label", "text-anchor": "middle" }, NAMES[i][0]);
        firm(draw(svg, "circle", { cx: px, cy: py, r: REACH, class: "live-handle" }));
      }
      const x = scale([6, 21], [222, 348]);
      const y = scale([0, 12], [164, 22]);
      axis(svg, { x, y: 164, ticks: [6, 11, 16, 21], digits: 0, name: "comparisons" });
      [0, 4, 8, 12].forEach((tick) => {
        draw(svg, "line", { x1: 222, x2: 348, y1: y(tick), y2: y(tick), class: "live-rule" });
        draw(svg, "text", { x: 216, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" }, fixed(tick, 0));
      });
      draw(svg, "text", { x: 206, y: 12, class: "live-name" }, "log determinant");
      draw(svg, "path", { d: path(greedy.map((v, k) => [x(least + k), y(v)])), class: "live-line live-dashed live-laplace" });
      const values = history();
      draw(svg, "path", { d: path(values.map((v, k) => [x(least + k), y(v)])), class: "live-line live-gaussian" });
      draw(svg, "circle", { cx: x(asked.length), cy: y(values[values.length - 1]), r: 5, class: "live-dot live-gaussian" });
      draw(svg, "text", { x: 350, y: y(2.6), class: "live-label live-laplace", "text-anchor": "end" }, "best pairs");
      const all = pairs.map(({ first, second }) => r[first][second]);
      const words =
        `${asked.length} comparisons. Least known: ${NAMES[next.first]} and ${NAMES[next.second]}, whose difference has variance ` +
        `${fixed(Math.max(...all))} (the mean over all pairs is ${fixed(mean(all))}). Log determinant ${fixed(values[values.length - 1])}.`;
      return { words, state: { n, comparisons: asked, resistance: r, next, logDeterminant: values[values.length - 1], greedy } };
    };
    // Pairs asked beyond the chain, two letters each.
    const more = {
      get: () => [asked.slice(least).map(({ first, second }) => `${first}${second}`).join("") || "none"],
      set: ([word = ""]) => {
        if (word !== "none" && !/^([0-6][0-6]){1,15}$/.test(word)) return false;
        const added = word === "none" ? [] : word.match(/../g).map(([i, j]) => ({ first: Number(i), second: Number(j) }));
        if (added.some(({ first, second }) => first === second)) return false;
        asked = [...chain, ...added];
        return true;
      },
    };
    const live = frame(figure, { label: "Which comparison next, for seven texts", height: 206, redraw, more });
    const pair = live.choice({
      text: "pair",
      value: "0-2",
      options: pairs.map(({ first, second }) => [`${first}-${second}`, `${NAMES[first]} and ${NAMES[second]}`]),
    });
    const add = (chosen) => {
      hand.forget();
      if (asked.length < 21) asked = [...asked, chosen];
    };
    const places = Array.from({ length: n }, (_, i) => place(i));
    hand = joining(live, { places, reach: REACH, take: (first, second) => add({ first, second }) });
    live.button("Ask this pair", () => {
      const [first, second] = pair().split("-").map(Number);
      add({ first, second });
    });
    live.button("Ask the best pair", () => add(widest(widths(asked))));
    live.button("Ask a random pair", () => add(pairs[Math.floor(draws() * pairs.length)]));
    live.restart(() => {
      asked = [...chain];
      hand.forget();
      draws = random(7);
    });
    live.update();
  };

  // Chapter 14: the posterior tightens as comparisons arrive.
  poeLive.figures["fig-live-budget"] = (figure) => {
    const quality = [1.1, 0.7, 0.2, -0.3, -0.6, -1.1];
    const n = quality.length;
    const most = 120;
    const sequence = (sharpness) => {
      const draws = random(2024);
      const normal = () => Math.sqrt(-2 * Math.log(draws())) * Math.cos(2 * Math.PI * draws());
      return Array.from({ length: most }, (_, k) => {
        // The first n - 1 make a chain, so that all texts are linked from the start.
        let i = k % n;
        let j = (i + 1) % n;
        if (k >= n - 1) {
          i = Math.floor(draws() * n);
          j = (i + 1 + Math.floor(draws() * (n - 1))) % n;
        }
        const p = sigmoid(sharpness * (quality[i] - quality[j]) + 0.8 * normal());
        return { first: i, second: j, p: Math.min(0.995, Math.max(0.005, p)) };
      });
    };
    let budget, sharpness;
    const redraw = (svg) => {
      const comparisons = sequence(sharpness()).slice(0, budget());
      const { scores, covariance } = bradleyTerry(n, comparisons);
      const half = covariance.map((row, i) => 1.96 * Math.sqrt(row[i]));
      const x = scale([-4, 4], [60, 350]);
      axis(svg, { x, y: 182, ticks: [-4, -2, 0, 2, 4], digits: 0, name: "score, with its 95% interval", grid: 8 });
      scores.forEach((score, i) => {
        const y = 24 + 28 * i;
        draw(svg, "text", { x: 4, y: y + 4, class: "live-label" }, NAMES[i]);
        draw(svg, "line", { x1: x(score - half[i]), x2: x(score + half[i]), y1: y, y2: y, class: "live-bar live-0" });
        draw(svg, "circle", { cx: x(score), cy: y, r: 5.5, class: "live-dot live-0" });
        draw(svg, "circle", { cx: x(sharpness() * quality[i]), cy: y, r: 6.5, class: "live-hollow" });
      });
      const order = scores.map((_, i) => i).sort((a, b) => scores[b] - scores[a]);
      const r = resistance(covariance);
      const better = luck(scores, covariance); // the leader leads by luck, too
      const sure = order.slice(1).map((j, k) => {
        const i = order[k];
        return better((scores[i] - scores[j]) / Math.sqrt(r[i][j]));
      });
      const weakest = sure.indexOf(Math.min(...sure));
      const words =
        `${comparisons.length} comparisons. Ranking: ${inOrder(scores)}. P(${NAMES[order[0]]} is better than ${NAMES[order[1]]}) = ` +
        `${fixed(sure[0])}; least certain neighbours: ${NAMES[order[weakest]]} and ${NAMES[order[weakest + 1]]}, ${fixed(sure[weakest])}.`;
      return { words, state: { n, comparisons, scores, half, order, sure } };
    };
    const live = frame(figure, { label: "The posterior tightens as comparisons arrive", height: 218, redraw });
    budget = live.slider({ text: "comparisons", low: 5, high: most, step: 1, value: 12, show: (v) => fixed(v, 0) });
    sharpness = live.slider({ text: "sharpness of the judge", low: 0.25, high: 2, step: 0.05, value: 1 });
    live.restart();
    live.update();
  };
})();

// Live figures of chapters 1, 2 and 4: what a call buys, what a label's probability is a share of,
// Zermelo's iteration on its arrows, and the one arrow that makes scores finite.
(() => {
  const { EXAMPLE, NAMES, axis, draw, firm, fixed, frame, inOrder, joining, pairName, path, scale, signed } =
    poeLive.kit;
  const { bradleyTerry, normalCdf, sigmoid } = poeLive.mathematics;

  // Chapter 1: the chance of putting two texts in order, by grading and by comparing.
  const TEXTS = 16;
  const NINE_IN_TEN = 1.2815515655446004; // the normal quantile of 0.9
  poeLive.figures["fig-live-break-even"] = (figure) => {
    let sigma, tau, kappa, account;
    const redraw = (svg) => {
      const read = account() === "texts" ? 2 : 1;
      // Variances of a difference after one call per text, book eq. 1.7.
      const grade = 2 * (sigma() ** 2 + tau() ** 2);
      const compare = ((TEXTS - 1) / TEXTS) * (2 * sigma() ** 2 + kappa() ** 2) * read;
      const x = scale([0, 30], [48, 350]);
      const y = scale([0.5, 1], [190, 24]);
      [0.5, 0.6, 0.7, 0.8, 0.9, 1].forEach((tick) => {
        draw(svg, "line", { x1: 48, x2: 350, y1: y(tick), y2: y(tick), class: "live-rule" });
        draw(svg, "text", { x: 42, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" }, fixed(tick, 1));
      });
      const name = read === 2 ? "texts read per text" : "calls per text";
      axis(svg, { x, y: 190, ticks: [0, 10, 20, 30], digits: 0, name });
      draw(svg, "text", { x: 4, y: 12, class: "live-name" }, "chance of the right order");
      const grid = Array.from({ length: 117 }, (_, k) => 1 + k / 4);
      const curve = (variance, look) =>
        draw(svg, "path", { class: `live-line ${look}`,
          d: path(grid.map((c) => [x(c), y(normalCdf(Math.sqrt(c / Math.max(variance, 1e-9))))])) });
      curve(grade, "live-dashed live-1");
      curve(compare, "live-0");
      draw(svg, "text", { x: 346, y: 160, class: "live-label live-0", "text-anchor": "end" }, "comparing, solid");
      draw(svg, "text", { x: 346, y: 178, class: "live-label live-1", "text-anchor": "end" }, "grading, dashed");
      const needs = [grade, compare].map((v) => v * NINE_IN_TEN ** 2);
      const ratio = grade === compare ? 1 : compare / grade;
      const even = read === 1 && tau() === 0 && kappa() === 0 && grade > 0;
      const winner = even ? `A tie, but for the (N − 1)/N of ${TEXTS} texts.`
        : Math.abs(ratio - 1) < 0.02 ? "Nobody wins." : ratio < 1 ? "Comparing wins." : "Grading wins.";
      const words =
        `Nine pairs in ten right: grading needs ${fixed(needs[0], 1)} ${name}, comparing ` +
        `${fixed(needs[1], 1)}. ${winner}`;
      return { words, state: { sigma: sigma(), tau: tau(), kappa: kappa(), read, grade, compare, needs } };
    };
    const live = frame(figure, { label: "What a call buys", height: 228, redraw });
    sigma = live.slider({ text: "reading error σ", low: 0, high: 2, step: 0.05, value: 1 });
    tau = live.slider({ text: "drift ζ", low: 0, high: 2, step: 0.05, value: 1 });
    kappa = live.slider({ text: "error of comparing χ", low: 0, high: 2, step: 0.05, value: 0.5 });
    account = live.choice({ text: "count", value: "calls", options: [["calls", "calls"], ["texts", "texts read"]] });
    live.restart();
    live.update();
  };

  // Chapter 2: two labels and all other words.
  poeLive.figures["fig-live-mass"] = (figure) => {
    let logits, temperature;
    const redraw = (svg) => {
      const given = logits.map((read) => read());
      const powers = given.map((v) => Math.exp(v / temperature()));
      const total = powers.reduce((sum, v) => sum + v, 0);
      const shares = powers.map((v) => v / total);
      const p = powers[0] / (powers[0] + powers[1]);
      const mass = shares[0] + shares[1];
      const x = scale([0, 1], [104, 316]);
      [
        ["P(A)", shares[0], "live-0"], ["P(B)", shares[1], "live-1"], ["other words", shares[2], "live-3"],
        ["mass", mass, "live-2"], ["p", p, "live-0"],
      ].forEach(([name, value, look], k) => {
        const y = 20 + 29 * k + (k > 2 ? 14 : 0);
        draw(svg, "text", { x: 98, y: y + 5, class: "live-label", "text-anchor": "end" }, name);
        draw(svg, "rect", { x: x(0), y: y - 8, width: x(value) - x(0), height: 16, class: `live-text ${look}` });
        draw(svg, "text", { x: x(value) + 6, y: y + 5, class: "live-tick" }, fixed(value));
      });
      draw(svg, "line", { x1: 4, x2: 356, y1: 100, y2: 100, class: "live-cursor" });
      const words =
        `The model would say A in ${fixed(100 * shares[0], 0)} cases of a hundred and B in ` +
        `${fixed(100 * shares[1], 0)}. So p = ${fixed(p)} on a mass of ${fixed(mass)}.`;
      return { words, state: { logits: given, temperature: temperature(), shares, p, mass } };
    };
    const live = frame(figure, { label: "Two labels and all other words", height: 168, redraw });
    logits = [["logit of A", 2.2], ["logit of B", 0], ["of other words", 1.9]].map(([text, value]) =>
      live.slider({ text, low: -4, high: 6, step: 0.1, value, show: (v) => fixed(v, 1) }),
    );
    temperature = live.slider({ text: "temperature", low: 0.2, high: 5, step: 0.1, value: 1, show: (v) => fixed(v, 1) });
    live.restart();
    live.update();
  };

  // Chapter 4: strengths from wins, step by step; arrows lead from loser to winner.
  const zermelo = (wins, steps) => {
    let strength = wins.map(() => 1);
    for (let step = 0; step < steps; step++) {
      const next = strength.map((own, i) => {
        let won = 0;
        let share = 0;
        wins.forEach((_, j) => {
          if (j === i) return;
          won += wins[i][j];
          share += (wins[i][j] + wins[j][i]) / (own + strength[j]);
        });
        return Math.max(won / share, 1e-300);
      });
      const middle = next.reduce((sum, v) => sum + Math.log(v), 0) / next.length;
      strength = next.map((v) => Math.max(v / Math.exp(middle), 1e-150));
    }
    return strength.map(Math.log);
  };
  const surplus = (wins, s) =>
    Math.max(...s.map((own, i) =>
      Math.abs(s.reduce((sum, other, j) =>
        i === j ? sum : sum + wins[i][j] - (wins[i][j] + wins[j][i]) * sigmoid(own - other), 0))));

  // Whom one can walk to from each text, from loser to winner.
  const reach = (wins) =>
    wins.map((_, start) => {
      const seen = new Set([start]);
      for (const i of seen) wins.forEach((row, j) => row[i] > 0 && seen.add(j));
      return seen;
    });

  // The smallest group that no arrow leaves, or null where one can walk from every text to every other.
  const unbeaten = (wins) => {
    const reached = reach(wins);
    const least = reached.reduce((a, b) => (b.size < a.size ? b : a));
    return least.size < wins.length ? [...least].sort() : null;
  };

  const SPOTS = [[80, 34], [140, 108], [80, 182], [20, 108]];
  const arrow = (svg, from, to, count, look = "") => {
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const length = Math.hypot(dx, dy);
    const [ux, uy] = [dx / length, dy / length];
    const side = 4.5; // arrows both ways run side by side
    const at = (along, across) => [
      from[0] + ux * along - uy * (across + side), from[1] + uy * along + ux * (across + side),
    ];
    const width = 0.8 + 0.35 * count;
    const tip = length - 20;
    const [a, b] = [at(20, 0), at(tip - 7, 0)];
    draw(svg, "line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: `live-arrow ${look}`, style: `stroke-width:${width}` });
    const corners = [at(tip, 0), at(tip - 9, 3.5 + width / 2), at(tip - 9, -3.5 - width / 2)];
    draw(svg, "polygon", { points: corners.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" "), class: `live-head ${look}` });
  };

  poeLive.figures["fig-live-zermelo"] = (figure) => {
    let won, steps;
    const redraw = (svg) => {
      const wins = NAMES.slice(0, 4).map(() => [0, 0, 0, 0]);
      EXAMPLE.forEach(({ first, second }, k) => {
        wins[first][second] = won[k]();
        wins[second][first] = 10 - won[k]();
      });
      const count = steps();
      const scores = zermelo(wins, count);
      const left = surplus(wins, scores);
      const group = unbeaten(wins);
      wins.forEach((row, i) => row.forEach((n, j) => n > 0 && arrow(svg, SPOTS[j], SPOTS[i], n)));
      SPOTS.forEach(([cx, cy], i) => {
        draw(svg, "circle", { cx, cy, r: 19, class: `live-text live-${i}` });
        draw(svg, "text", { x: cx, y: cy + 4, class: "live-label live-on", "text-anchor": "middle" }, NAMES[i]);
      });
      const x = scale([-3, 3], [182, 350]);
      axis(svg, { x, y: 188, ticks: [-2, 0, 2], digits: 0, name: "score (logits)", grid: 14 });
      const mode = group ? null : zermelo(wins, 4000);
      scores.forEach((score, i) => {
        const y = 34 + 44 * i;
        if (mode) draw(svg, "circle", { cx: x(mode[i]), cy: y, r: 9, class: "live-hollow" });
        draw(svg, "circle", { cx: x(score), cy: y, r: 6, class: `live-dot live-${i}` });
        const text = Math.abs(score) > 99 ? "off the map" : signed(score, 1);
        const anchor = score > 2.4 ? "end" : score < -2.4 ? "start" : "middle";
        draw(svg, "text", { x: x(score), y: y - 12, class: "live-tick", "text-anchor": anchor }, text);
      });
      const after = `After ${count} step${count === 1 ? "" : "s"}: ${inOrder(scores)}.`;
      const names = (group || []).map((i) => NAMES[i]).join(", ");
      const words = group
        ? `${after} No arrow leaves ${names}: no finite answer.`
        : `${after} Expected and observed wins differ by at most ${fixed(left, 2)}.`;
      return { words, state: { wins, steps: count, scores, surplus: left, unbeaten: group } };
    };
    const live = frame(figure, { label: "Zermelo's iteration on fifty decisions", height: 226, redraw });
    const whole = (v) => fixed(v, 0);
    steps = live.slider({ text: "steps", low: 0, high: 60, step: 1, value: 1, show: whole });
    won = EXAMPLE.map((pair) =>
      live.slider({ text: pairName(pair), low: 0, high: 10, step: 1, value: 10 * pair.p, show: whole }),
    );
    live.restart();
    live.update();
  };

  // Chapter 4: five decisions without a finite answer, and one more that the reader draws.
  poeLive.figures["fig-live-arrows"] = (figure) => {
    const y = scale([-0.7, 1], [192, 30]);
    let more, hand;
    const redraw = (svg) => {
      const extra = more() === "none" ? null : more().split("-").map(Number); // the loser, the winner
      const decisions = EXAMPLE.map(({ first, second, p }) => (p > 0.5 ? [second, first] : [first, second]));
      if (extra) decisions.push(extra);
      const wins = SPOTS.map(() => [0, 0, 0, 0]);
      decisions.forEach(([lost, won]) => (wins[won][lost] += 1));
      // Texts that can be reached from each other make a group; arrows lead up from group to group.
      const reached = reach(wins);
      const groups = SPOTS.map((_, i) => i)
        .filter((i) => ![...reached[i]].some((j) => j < i && reached[j].has(i)))
        .map((i) => [...reached[i]].filter((j) => reached[j].has(i)).sort())
        .sort((a, b) => reached[a[0]].size - reached[b[0]].size);
      const finite = groups.length === 1;
      const top = groups[0];
      if (!finite) top.forEach((i) => draw(svg, "circle", { cx: SPOTS[i][0], cy: SPOTS[i][1], r: 30, class: "live-solid", style: "fill-opacity:0.12" }));
      wins.forEach((row, i) => row.forEach((n, j) =>
        n > 0 && arrow(svg, SPOTS[j], SPOTS[i], 3 * n, more() === `${j}-${i}` ? "live-drawn" : "")));
      SPOTS.forEach(([cx, cy], i) => {
        draw(svg, "circle", { cx, cy, r: 19, class: `live-text live-${i}` });
        if (hand.held() === i) draw(svg, "circle", { cx, cy, r: 23, class: `live-line live-${i}` });
        draw(svg, "text", { x: cx, y: cy + 4, class: "live-label live-on", "text-anchor": "middle" }, NAMES[i]);
        firm(draw(svg, "circle", { cx, cy, r: 24, class: "live-handle" }));
      });
      const scores = finite ? bradleyTerry(4, decisions.map(([lost, won]) => ({ first: won, second: lost, p: 1 }))).scores : null;
      if (finite) {
        [-0.5, 0, 0.5, 1].forEach((tick) => {
          draw(svg, "line", { x1: 222, x2: 350, y1: y(tick), y2: y(tick), class: "live-rule" });
          draw(svg, "text", { x: 216, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" }, signed(tick, 1));
        });
        scores.forEach((score, i) => {
          draw(svg, "circle", { cx: 240, cy: y(score), r: 6, class: `live-dot live-${i}` });
          draw(svg, "text", { x: 254, y: y(score) + 4, class: `live-label live-${i}` }, `${NAMES[i]} ${signed(score, 1)}`);
        });
      } else {
        const step = 156 / Math.max(1, groups.length - 1);
        groups.forEach((group, k) => {
          const height = 34 + step * k;
          draw(svg, "text", { x: 236, y: height + 4, class: "live-label" }, group.map((i) => NAMES[i]).join(", "));
          if (k > 0) draw(svg, "text", { x: 236, y: height - step / 2 + 4, class: "live-tick" }, "as far as you like");
        });
        draw(svg, "line", { x1: 222, x2: 222, y1: 200, y2: 16, class: "live-arrow live-dashed", style: "stroke-width:2" });
        draw(svg, "polygon", { points: "222,4 216,17 228,17", class: "live-head" });
      }
      draw(svg, "text", { x: 222, y: 218, class: "live-name" }, "score (logits)");
      const named = top.map((i) => NAMES[i]).join(" and ");
      const also = extra ? `${NAMES[extra[1]]} has also beaten ${NAMES[extra[0]]}. ` : "Five decisions. ";
      const words = finite
        ? `${also}You can walk along the arrows from every text to every other: the scores are finite.`
        : `${also}No arrow leaves ${named}, so the decisions only become more probable the higher ${top.length > 1 ? "they are" : "she is"} raised: no finite answer.`;
      return { words, state: { decisions, groups, scores } };
    };
    const live = frame(figure, { label: "Which arrow makes the scores finite?", height: 228, redraw });
    const options = [["none", "none"]];
    SPOTS.forEach((_, won) => SPOTS.forEach((_, lost) =>
      won !== lost && options.push([`${lost}-${won}`, `${NAMES[won]} beats ${NAMES[lost]}`])));
    more = live.choice({ text: "one more decision", value: "none", options });
    const select = live.root.querySelector("select");
    hand = joining(live, { places: SPOTS, reach: 26, take: (lost, won) => (select.value = `${lost}-${won}`) });
    live.restart(hand.forget);
    live.update();
  };
})();

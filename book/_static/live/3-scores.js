// Live figures about scores: chapters 3, 6, 7 and 8.
(() => {
  const { EXAMPLE, NAMES, axis, draw, fixed, frame, inOrder, pairName, path, scale, signed } =
    poeLive.kit;
  const { bradleyTerry, gaussian, laplace, normalCdf, resistance, shares, sigmoid } =
    poeLive.mathematics;

  const opinions = (live) => {
    const read = EXAMPLE.map((pair) =>
      live.slider({ text: pairName(pair), low: 0.02, high: 0.98, step: 0.01, value: pair.p }),
    );
    return () => EXAMPLE.map((pair, k) => ({ ...pair, p: read[k]() }));
  };

  // Rows of dots, one an item: a mark, a bar for its spread, its name and number.
  const dots = (svg, scores, { x, top, gap = 30, half = null, text = signed }) =>
    scores.forEach((score, i) => {
      const y = top + gap * i;
      draw(svg, "text", { x: 4, y: y + 4, class: `live-label live-${i}` }, NAMES[i]);
      if (half) {
        const ends = { x1: x(score - half[i]), x2: x(score + half[i]), y1: y, y2: y };
        draw(svg, "line", { ...ends, class: `live-bar live-${i}` });
      }
      draw(svg, "circle", { cx: x(score), cy: y, r: 6, class: `live-dot live-${i}` });
      const label = { x: x(score), y: y - 10, class: "live-tick", "text-anchor": "middle" };
      draw(svg, "text", label, text(score));
    });

  // Chapter 3: what decisions throw away.
  poeLive.figures["fig-live-ranks"] = (figure) => {
    let read;
    const redraw = (svg) => {
      const comparisons = read();
      const { winRatio, averageProbability } = shares(4, comparisons);
      const y = scale([0, 1], [176, 18]);
      const columns = [[96, winRatio, "win-ratio", "end"], [264, averageProbability, "average probability", "start"]];
      columns.forEach(([x, , name]) => {
        draw(svg, "line", { x1: x, x2: x, y1: 14, y2: 180, class: "live-rule" });
        draw(svg, "text", { x, y: 202, class: "live-name", "text-anchor": "middle" }, name);
      });
      // Names of items that share a height stand side by side.
      const names = (x, values, anchor) => {
        const seen = {};
        values.forEach((value, i) => (seen[value.toFixed(2)] ||= []).push(i));
        const sorted = Object.entries(seen).sort((a, b) => b[0] - a[0]);
        let above = -Infinity;
        sorted.forEach(([value, items]) => {
          const at = Math.max(y(Number(value)), above + 13);
          above = at;
          const attributes = { x: x + (anchor === "end" ? -12 : 12), y: at + 4, "text-anchor": anchor };
          const text = draw(svg, "text", { ...attributes, class: "live-label" });
          items.forEach((i, k) => draw(text, "tspan", { class: `live-${i}` }, (k ? ", " : "") + NAMES[i]));
          draw(text, "tspan", { class: "live-tick" }, ` ${fixed(Number(value))}`);
        });
      };
      winRatio.forEach((left, i) => {
        const right = averageProbability[i];
        draw(svg, "line", { x1: 96, x2: 264, y1: y(left), y2: y(right), class: `live-line live-${i}` });
        draw(svg, "circle", { cx: 96, cy: y(left), r: 5.5, class: `live-dot live-${i}` });
        draw(svg, "circle", { cx: 264, cy: y(right), r: 5.5, class: `live-dot live-${i}` });
      });
      columns.forEach(([x, values, , anchor]) => names(x, values, anchor));
      const words =
        `By win-ratio: ${inOrder(winRatio)}. By average probability: ${inOrder(averageProbability)}.`;
      return { words, state: { comparisons, winRatio, averageProbability } };
    };
    const live = frame(figure, { label: "Two scores from five opinions", height: 210, redraw });
    read = opinions(live);
    live.restart();
    live.update();
  };

  // Chapter 6: least squares, and what each opinion wants and gets.
  poeLive.figures["fig-live-gaussian"] = (figure) => {
    let read, beta;
    const redraw = (svg) => {
      const comparisons = read();
      const { scores, covariance } = gaussian(4, comparisons, beta());
      const x = scale([-0.6, 0.6], [60, 350]);
      axis(svg, { x, y: 136, ticks: [-0.6, -0.3, 0, 0.3, 0.6], name: "score", grid: 10 });
      dots(svg, scores, { x, top: 24 });
      comparisons.forEach((pair, k) => {
        const y = 192 + 20 * k;
        const wants = pair.p - beta();
        const gets = scores[pair.first] - scores[pair.second];
        draw(svg, "text", { x: 4, y: y + 4, class: "live-tick" }, pairName(pair));
        const at = scale([-0.6, 0.6], [118, 350]);
        draw(svg, "line", { x1: at(wants), x2: at(gets), y1: y, y2: y, class: "live-force-line" });
        draw(svg, "circle", { cx: at(wants), cy: y, r: 4.5, class: "live-hollow" });
        draw(svg, "circle", { cx: at(gets), cy: y, r: 4.5, class: "live-solid" });
      });
      const at = scale([-0.6, 0.6], [118, 350]);
      axis(svg, { x: at, y: 286, ticks: [-0.6, -0.3, 0, 0.3, 0.6], name: "difference: wanted (ring), got (dot)" });
      const words = `Ranking: ${inOrder(scores)}. Scores: ${scores.map((s, i) => `${NAMES[i]} ${signed(s)}`).join(", ")}.`;
      return { words, state: { comparisons, beta: beta(), scores, resistance: resistance(covariance) } };
    };
    const live = frame(figure, { label: "Scores of four texts by least squares", height: 324, redraw });
    read = opinions(live);
    beta = live.slider({ text: "no preference means p =", low: 0.3, high: 0.8, step: 0.01, value: 0.5 });
    live.restart();
    live.update();
  };

  // Chapter 7: one expert's density and the posterior of the difference it speaks about. Each is
  // drawn as a share of its peak: what repeating an answer changes is the width.
  poeLive.figures["fig-live-soft"] = (figure) => {
    let p, copies;
    const redraw = (svg) => {
      const repeated = Array.from({ length: copies() }, () => ({ ...EXAMPLE[0], p: p() }));
      const comparisons = [...repeated, ...EXAMPLE.slice(1)];
      const { scores, covariance } = bradleyTerry(4, comparisons);
      const gap = scores[0] - scores[1];
      const sd = Math.sqrt(resistance(covariance)[0][1]);
      const x = scale([-6, 8], [14, 348]);
      const y = scale([0, 1], [178, 24]);
      axis(svg, { x, y: 178, ticks: [-6, -4, -2, 0, 2, 4, 6, 8], digits: 0, name: "score of Ada minus score of Ben" });
      draw(svg, "line", { x1: x(0), x2: x(0), y1: 24, y2: 178, class: "live-rule" });
      const grid = Array.from({ length: 281 }, (_, k) => -6 + k * 0.05);
      const expert = (d) => sigmoid(d) ** p() * (1 - sigmoid(d)) ** (1 - p());
      const peak = p() ** p() * (1 - p()) ** (1 - p()); // where sigmoid(d) is the answer
      const posterior = (d) => Math.exp(-(((d - gap) / sd) ** 2) / 2);
      draw(svg, "path", { d: path([...grid.map((d) => [x(d), y(posterior(d))]), [x(8), y(0)], [x(-6), y(0)]]), class: "live-area live-0" });
      draw(svg, "path", { d: path(grid.map((d) => [x(d), y(posterior(d))])), class: "live-line live-0" });
      draw(svg, "path", { d: path(grid.map((d) => [x(d), y(expert(d) / peak)])), class: "live-line live-dashed live-1" });
      const bar = y(Math.exp(-0.5)); // a bell is as high one standard deviation from its middle
      draw(svg, "line", { x1: x(gap - sd), x2: x(gap + sd), y1: bar, y2: bar, class: "live-cursor" });
      draw(svg, "text", { x: x(gap), y: bar - 6, class: "live-name live-halo", "text-anchor": "middle" }, `\u00b1 ${fixed(sd)}`);
      draw(svg, "text", { x: 14, y: 12, class: "live-label live-0" }, "posterior (Laplace)");
      draw(svg, "text", { x: 346, y: 12, class: "live-label live-1", "text-anchor": "end" }, "this one expert");
      const area = normalCdf(gap / sd);
      const words =
        `Ada leads Ben by ${fixed(gap)} with standard deviation ${fixed(sd)}; of the posterior's area ` +
        `${fixed(area)} lies where she is better. Ranking: ${inOrder(scores)}.`;
      return { words, state: { comparisons, scores, gap, sd, area } };
    };
    const live = frame(figure, { label: "An expert and the posterior of a difference", height: 218, redraw });
    p = live.slider({ text: "P(Ada over Ben)", low: 0.02, high: 0.98, step: 0.01, value: 0.9 });
    copies = live.slider({ text: "times it is asked", low: 1, high: 12, step: 1, value: 1, show: (v) => fixed(v, 0) });
    live.restart();
    live.update();
  };

  // Chapter 8: a single wrong answer pulls a mean and hardly a median.
  poeLive.figures["fig-live-outlier"] = (figure) => {
    const truth = [0.3, 0.1, -0.1, -0.3];
    const all = [];
    for (let i = 0; i < 4; i++) {
      for (let j = i + 1; j < 4; j++) all.push({ first: i, second: j, p: Number((0.5 + (truth[i] - truth[j]) / 2).toFixed(3)) });
    }
    const answered = (one, two) =>
      all.map((pair, k) => (k === 0 ? { ...pair, p: one } : k === 1 ? { ...pair, p: two } : pair));
    const gap = (scores) => scores[0] - scores[1];
    const stands = (lead) => `${fixed(Math.abs(lead))} ${lead < 0 ? "below" : "above"}`;
    const grid = Array.from({ length: 33 }, (_, k) => 0.02 + 0.03 * k);
    let last = null;
    // The curves depend on the second answer only, so they are kept while the first one moves.
    const curves = (two) => {
      if (last?.two !== two) {
        const values = (solve) => grid.map((v) => gap(solve(4, answered(v, two)).scores));
        last = { two, curves: [
          ["live-gaussian", "", values(gaussian), "Gaussian experts"],
          ["live-laplace", "live-dashed", values(laplace), "Laplacian experts"],
        ] };
      }
      return last.curves;
    };
    let wrong, second;
    const redraw = (svg) => {
      const comparisons = answered(wrong(), second());
      const least = gaussian(4, comparisons).scores;
      const robust = laplace(4, comparisons).scores;
      const x = scale([0, 1], [46, 348]);
      const y = scale([-0.4, 0.4], [180, 26]);
      axis(svg, { x, y: 186, ticks: [0, 0.25, 0.5, 0.75, 1], digits: 2, name: "answer to “is Ada better than Ben?”" });
      [-0.4, -0.2, 0, 0.2, 0.4].forEach((tick) => {
        draw(svg, "line", { x1: 46, x2: 348, y1: y(tick), y2: y(tick), class: "live-rule" });
        draw(svg, "text", { x: 40, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" }, fixed(tick, 1));
      });
      draw(svg, "text", { x: 8, y: 12, class: "live-name" }, "score of Ada minus score of Ben");
      curves(second()).forEach(([look, dash, values, name], k) => {
        draw(svg, "path", { d: path(values.map((v, i) => [x(grid[i]), y(v)])), class: `live-line ${dash} ${look}` });
        draw(svg, "text", { x: 344, y: y(k ? -0.25 : -0.34), class: `live-label ${look}`, "text-anchor": "end" }, name);
      });
      draw(svg, "line", { x1: x(wrong()), x2: x(wrong()), y1: 26, y2: 180, class: "live-cursor" });
      draw(svg, "circle", { cx: x(wrong()), cy: y(gap(least)), r: 6, class: "live-dot live-gaussian" });
      draw(svg, "circle", { cx: x(wrong()), cy: y(gap(robust)), r: 6, class: "live-dot live-laplace" });
      const words =
        `Gaussian experts put Ada ${stands(gap(least))} Ben, Laplacian experts ` +
        `${stands(gap(robust))} Ben. Rankings: ${inOrder(least)}; ${inOrder(robust)}.`;
      return { words, state: { comparisons, gaussian: least, laplacian: robust } };
    };
    const live = frame(figure, { label: "Wrong answers among six", height: 224, redraw });
    wrong = live.slider({ text: "P(Ada over Ben)", low: 0.02, high: 0.98, step: 0.01, value: 0.1 });
    second = live.slider({ text: "P(Ada over Cleo)", low: 0.02, high: 0.98, step: 0.01, value: 0.7 });
    live.restart();
    live.update();
  };
})();

// The live figure of chapter 3: twelve predictions, whose agreement with people is counted at three levels.
(() => {
  const { draw, fixed, frame, path, scale, signed } = poeLive.kit;
  const { mean, spearman } = poeLive.mathematics;
  const SYSTEMS = ["A", "B", "C", "D"];
  const PREDICTED = [[4, 1, 2, 3], [8, 6, 5, 7], [10, 9, 12, 11]]; // by article and system, as in the still picture
  const HUMAN = [[4, 1, 3, 2], [6, 8, 5, 7], [9, 12, 10, 11]];
  const LAST = 2; // the article that is moved
  const bySystem = (table) => SYSTEMS.map((_, k) => mean(table.map((row) => row[k])));

  poeLive.figures["fig-live-levels"] = (figure) => {
    let shift, stretch, swapped;
    const redraw = (svg) => {
      const middle = mean(PREDICTED[LAST]);
      const predicted = PREDICTED.map((row, c) =>
        c === LAST ? row.map((v) => middle + stretch() * (v - middle) + shift()) : [...row]);
      if (swapped() !== "none") {
        const [a, b] = [...swapped()].map((name) => SYSTEMS.indexOf(name));
        predicted.forEach((row) => ([row[a], row[b]] = [row[b], row[a]]));
      }
      const levels = {
        summary: mean(predicted.map((row, c) => spearman(row, HUMAN[c]))),
        dataset: spearman(predicted.flat(), HUMAN.flat()),
        system: spearman(bySystem(predicted), bySystem(HUMAN)),
      };
      const x = scale([-8, 24], [26, 330]);
      const y = scale([0, 13], [166, 24]);
      draw(svg, "line", { x1: 22, x2: 346, y1: 172, y2: 172, class: "live-rule" });
      draw(svg, "line", { x1: 14, x2: 14, y1: 8, y2: 166, class: "live-rule" });
      draw(svg, "text", { x: 346, y: 187, class: "live-name", "text-anchor": "end" }, "predicted, rising to the right");
      draw(svg, "text", { x: 22, y: 14, class: "live-name" }, "by people, rising upwards");
      predicted.forEach((row, c) => {
        const at = row.map((v, k) => [x(v), y(HUMAN[c][k])]).sort((one, other) => one[0] - other[0]);
        draw(svg, "path", { d: path(at), class: `live-line live-thin live-${c}` });
        const [right, height] = at[at.length - 1];
        draw(svg, "text", { x: Math.min(right + 9, 306), y: height + 16, class: "live-tick" }, `article ${c + 1}`);
        row.forEach((v, k) =>
          draw(svg, "text", { x: x(v), y: y(HUMAN[c][k]) + 4, class: `live-label live-${c}`, "text-anchor": "middle" }, SYSTEMS[k]));
      });
      const dial = scale([-1, 1], [136, 300]);
      Object.entries(levels).forEach(([name, value], k) => {
        const height = 208 + 24 * k;
        draw(svg, "text", { x: 14, y: height + 4, class: "live-label" }, `${name} level`);
        draw(svg, "line", { x1: dial(-1), x2: dial(1), y1: height, y2: height, class: "live-rule" });
        draw(svg, "line", { x1: dial(0), x2: dial(0), y1: height - 7, y2: height + 7, class: "live-rule" });
        draw(svg, "circle", { cx: dial(value), cy: height, r: 6, class: "live-solid" });
        draw(svg, "text", { x: 310, y: height + 4, class: "live-label" }, signed(value));
      });
      const words =
        `Spearman’s correlation is ${signed(levels.summary)} as a mean over the articles, ${signed(levels.dataset)} in one list, ` +
        `and ${signed(levels.system)} for the means of the systems.`;
      return { words, state: { predicted, human: HUMAN, ...levels } };
    };
    const live = frame(figure, { label: "One set of scores at three levels", height: 268, redraw });
    shift = live.slider({ text: "raise article 3", low: -10, high: 5, step: 0.5, value: 0, show: (v) => signed(v, 1) });
    stretch = live.slider({ text: "stretch article 3", low: 0.5, high: 5, step: 0.5, value: 1, show: (v) => `× ${fixed(v, 1)}` });
    swapped = live.choice({
      text: "exchange everywhere", value: "none",
      options: [["none", "none"], ...["AB", "AC", "AD", "BC", "BD", "CD"].map((two) => [two, `${two[0]} and ${two[1]}`])],
    });
    live.restart();
    live.update();
  };
})();

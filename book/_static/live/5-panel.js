// The live figure about several judges: chapter 15.
(() => {
  const { axis, draw, fixed, frame, path, scale } = poeLive.kit;
  const SPREAD = 0.4; // the bottleneck believes 1/2 plus or minus this

  // The slope that minimises cross-entropy plus lambda times its square (book eq. 15.14).
  const shrunk = (slope, lambda) => {
    const excess = (m) =>
      slope - m - ((2 * lambda * m) / SPREAD ** 2) * (0.25 - m ** 2 * SPREAD ** 2);
    let [low, high] = [0, slope];
    for (let step = 0; step < 60; step++) {
      const middle = (low + high) / 2;
      if (excess(middle) > 0) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };

  poeLive.figures["fig-live-slope"] = (figure) => {
    let accuracy, certainty, lambda;
    const redraw = (svg) => {
      const skill = 2 * accuracy() - 1;
      const plain = certainty() * skill;
      const slope = shrunk(plain, lambda());
      const weight = Math.log((1 + slope) / (1 - slope));
      const x = scale([0, 1], [46, 348]);
      const y = scale([0, 1], [190, 24]);
      axis(svg, { x, y: 190, ticks: [0, 0.25, 0.5, 0.75, 1], digits: 2, name: "bottleneck’s belief in class 0" });
      [0, 0.25, 0.5, 0.75, 1].forEach((tick) => {
        draw(svg, "line", { x1: 46, x2: 348, y1: y(tick), y2: y(tick), class: "live-rule" });
        draw(svg, "text", { x: 40, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" }, fixed(tick));
      });
      draw(svg, "text", { x: 8, y: 10, class: "live-name" }, "judge’s P(class 0)");
      [
        [skill, "live-dashed live-2", "live-2", "skill", 40],
        [plain, "", "live-1", "without λ", 58],
        [slope, "", "live-0", "as trained", 76],
      ].forEach(([m, dash, look, name, top]) => {
        const ends = [[x(0), y(0.5 - m / 2)], [x(1), y(0.5 + m / 2)]];
        draw(svg, "path", { d: path(ends), class: `live-line ${dash} ${look}` });
        draw(svg, "text", { x: 54, y: top, class: `live-label ${look}` }, `${name}: slope ${fixed(m)}`);
      });
      const words =
        `The skill is ${fixed(skill)}, the slope ${fixed(plain)} without and ${fixed(slope)} with the ` +
        `regulariser. A vote of this judge weighs ${fixed(weight)}; by its skill it should weigh ` +
        `${fixed(Math.log((1 + skill) / (1 - skill)))}.`;
      return { words, state: { skill, plain, lambda: lambda(), slope, weight } };
    };
    const live = frame(figure, { label: "The slope of a judge", height: 228, redraw });
    accuracy = live.slider({ text: "accuracy", low: 0.5, high: 0.98, step: 0.01, value: 0.9 });
    certainty = live.slider({ text: "certainty", low: 0.02, high: 1, step: 0.01, value: 0.4 });
    lambda = live.slider({ text: "regulariser λ", low: 0, high: 0.3, step: 0.01, value: 0.1 });
    live.restart();
    live.update();
  };
})();

// The live figure about tables of guesses: chapter 12.
(() => {
  const { axis, draw, fixed, frame, path, random, scale } = poeLive.kit;
  const TABLES = 400;
  const BIN = 0.05;

  // Correlations of random orders with a fixed one, averaged over contexts: one number for a table.
  const guessed = (texts, contexts) => {
    const draws = random(12);
    const order = Array.from({ length: texts }, (_, i) => i);
    return Array.from({ length: TABLES }, () => {
      let sum = 0;
      for (let c = 0; c < contexts; c++) {
        let squares = 0;
        for (let i = texts - 1; i >= 0; i--) {
          const j = Math.floor(draws() * (i + 1));
          [order[i], order[j]] = [order[j], order[i]];
          squares += (order[i] - i) ** 2;
        }
        sum += 1 - (6 * squares) / (texts ** 3 - texts);
      }
      return sum / contexts;
    });
  };

  poeLive.figures["fig-live-guess"] = (figure) => {
    let contexts, texts, reached;
    const redraw = (svg) => {
      const values = guessed(texts(), contexts());
      const sd = 1 / Math.sqrt(contexts() * (texts() - 1));
      const limit = reached() / 100;
      const share = values.filter((value) => value >= limit - 1e-9).length / TABLES;
      const counts = new Map();
      values.forEach((value) => {
        const bin = Math.round(value / BIN);
        counts.set(bin, (counts.get(bin) || 0) + 1);
      });
      const density = (r) =>
        (TABLES * BIN * Math.exp(-((r / sd) ** 2) / 2)) / (sd * Math.sqrt(2 * Math.PI));
      const top = Math.max(density(0), ...counts.values());
      const x = scale([-1, 1], [12, 348]);
      const y = scale([0, top], [166, 36]);
      const points = scale([-100, 100], [12, 348]);
      counts.forEach((count, bin) => {
        const [left, right] = [x((bin - 0.45) * BIN), x((bin + 0.45) * BIN)];
        const beyond = bin * BIN >= limit - 1e-9;
        const at = { x: left, y: y(count), width: Math.max(1, right - left), height: 166 - y(count) };
        draw(svg, "rect", { ...at, style: `fill: ${beyond ? "var(--live-1)" : "var(--pst-color-text-muted)"}` });
      });
      const curve = Array.from({ length: 201 }, (_, k) => -1 + k / 100).map((r) => [x(r), y(density(r))]);
      draw(svg, "path", { d: path(curve), class: "live-line live-0" });
      draw(svg, "line", { x1: x(limit), x2: x(limit), y1: 24, y2: 166, class: "live-rule", style: "stroke: var(--live-1); stroke-width: 2" });
      const side = limit > 0.3 ? "end" : "start";
      draw(svg, "text", { x: x(limit) + (side === "end" ? -6 : 6), y: 20, class: "live-label live-1", "text-anchor": side },
        `${fixed(100 * share, share < 0.1 ? 1 : 0)}% reach this`);
      axis(svg, { x: points, y: 166, ticks: [-100, -50, 0, 50, 100], digits: 0, name: "a guesser’s cell (points)" });
      const words =
        `The cells of ${TABLES} tables of guesses scatter with a standard deviation of ` +
        `${fixed(100 * sd, 1)} points; ${fixed(100 * share, 1)}% of them reach ${fixed(100 * limit, 0)} points.`;
      return { words, state: { texts: texts(), contexts: contexts(), limit, sd, share, values } };
    };
    const live = frame(figure, { label: "Tables of guesses", height: 202, redraw });
    const whole = (v) => fixed(v, 0);
    contexts = live.slider({ text: "contexts", low: 1, high: 100, step: 1, value: 10, show: whole });
    texts = live.slider({ text: "texts in each", low: 3, high: 16, step: 1, value: 6, show: whole });
    reached = live.slider({ text: "a judge’s cell (points)", low: 0, high: 60, step: 1, value: 18, show: whole });
    live.restart();
    live.update();
  };
})();

// The front page and chapters 5, 7 and 8: five answers as springs between four texts that hang
// at the heights of their scores.
(() => {
  const { EXAMPLE, NAMES, draw, fixed, frame, inOrder, pairName, path, scale, signed } = poeLive.kit;
  const { bradleyTerry, gaussian, laplace } = poeLive.mathematics;

  const PLACES = [176, 42, 200, 330]; // Ada, Ben, Cleo, Dan
  const LABELS = [0.6, 0.62, 0.36, 0.4, 0.5]; // where on its spring each number stands
  const LOGITS = 4; // near zero a Gaussian score is worth four times as many logits

  const coil = ([x1, y1], [x2, y2]) => {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const normal = [(y1 - y2) / length, (x2 - x1) / length];
    const bends = Array.from({ length: 17 }, (_, k) => [0.15 + (0.7 * k) / 16, k % 2 ? 5 : -5]);
    return path(
      [[0, 0], [0.13, 0], ...bends, [0.87, 0], [1, 0]].map(([t, off]) => [
        x1 + t * (x2 - x1) + off * normal[0],
        y1 + t * (y2 - y1) + off * normal[1],
      ]),
    );
  };

  const paint = (svg, comparisons, scores) => {
    const y = scale([-0.45, 0.45], [304, 16]);
    const at = (i) => [PLACES[i], y(scores[i])];
    svg.replaceChildren();
    [-0.4, -0.2, 0, 0.2, 0.4].forEach((tick) => {
      draw(svg, "line", { x1: 32, x2: 356, y1: y(tick), y2: y(tick), class: "live-rule" });
      const label = { x: 28, y: y(tick) + 4, class: "live-tick", "text-anchor": "end" };
      draw(svg, "text", label, fixed(tick, 1));
    });
    comparisons.forEach(({ first, second }) =>
      draw(svg, "path", { d: coil(at(first), at(second)), class: "live-spring" }),
    );
    comparisons.forEach(({ first, second }, k) => {
      const [[x1, y1], [x2, y2]] = [at(first), at(second)];
      const [x, middle] = [x1 + LABELS[k] * (x2 - x1), y1 + LABELS[k] * (y2 - y1)];
      const box = { x: x - 22, y: middle - 10, width: 44, height: 19, class: "live-paper" };
      draw(svg, "rect", box);
      const text = { x, y: middle + 5, class: "live-number", "text-anchor": "middle" };
      draw(svg, "text", text, signed(scores[first] - scores[second]));
    });
    scores.forEach((score, i) => {
      const [x, height] = at(i);
      draw(svg, "circle", { cx: x, cy: height, r: 7, class: `live-dot live-${i}` });
      // Of Ada and Cleo, who can pass each other, the higher one has its name above.
      const below = i % 2 === 0 && score >= scores[2 - i] ? -13 : 24;
      const text = { x, y: height + below, class: `live-label live-${i}`, "text-anchor": "middle" };
      draw(svg, "text", text, NAMES[i]);
    });
  };

  // On the front page only the last answer can be dragged, and the texts begin level.
  const springs = (figure, { front = false, start = "gaussian" } = {}) => {
    let read, expert;
    let shown = null; // the heights on the screen, on their way to the scores
    let moving = 0;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const redraw = (svg) => {
      const comparisons = read();
      const soft = expert() === "bradley-terry";
      const scores = soft
        ? bradleyTerry(4, comparisons).scores.map((s) => s / LOGITS)
        : (expert() === "laplacian" ? laplace : gaussian)(4, comparisons).scores;
      const speed = scores.map(() => 0);
      const drawn = ++moving;
      const settle = () => {
        if (drawn !== moving) return;
        const rest = shown.every((s, i) => Math.abs(s - scores[i]) + Math.abs(speed[i]) < 1e-3);
        if (rest) shown = [...scores];
        paint(svg, comparisons, shown);
        if (rest) return;
        // A damped spring, a sixtieth of a second at a time.
        shown = shown.map((s, i) => {
          speed[i] = 0.82 * speed[i] + 0.06 * (scores[i] - s);
          return s + speed[i];
        });
        requestAnimationFrame(settle);
      };
      if (shown === null && front) shown = scores.map(() => 0);
      if (shown === null || still) shown = [...scores];
      settle();
      const unit = soft ? " (in logits, divided by 4)" : "";
      const details =
        ` Scores${unit}: ` +
        `${scores.map((s, i) => `${NAMES[i]} ${signed(s)}`).join(", ")}. ` +
        "The number on a spring is the difference that it gets.";
      const words = `Ranking: ${inOrder(scores)}.${front ? "" : details}`;
      return { words, state: { comparisons, expert: expert(), scores } };
    };
    const live = frame(figure, { label: "Five springs between four texts", height: 320, redraw });
    read = (() => {
      const sliders = EXAMPLE.map((pair, k) =>
        front && k < EXAMPLE.length - 1
          ? () => pair.p
          : live.slider({ text: pairName(pair), low: 0.02, high: 0.98, step: 0.01, value: pair.p }),
      );
      return () => EXAMPLE.map((pair, k) => ({ ...pair, p: sliders[k]() }));
    })();
    const options = [
      ["gaussian", "Gaussian (springs)"],
      ["bradley-terry", "soft Bradley-Terry"],
      ["laplacian", "Laplacian (constant pull)"],
    ];
    expert = front
      ? () => start
      : live.choice({ text: "experts", options, value: start });
    live.restart();
    live.update();
  };

  poeLive.figures["fig-live-springs"] = (figure) => springs(figure);
  poeLive.figures["fig-live-springs-soft"] = (figure) => springs(figure, { start: "bradley-terry" });
  poeLive.figures["fig-live-springs-laplacian"] = (figure) => springs(figure, { start: "laplacian" });
  poeLive.figures["fig-live-front"] = (figure) => springs(figure, { front: true });
})();

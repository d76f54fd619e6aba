// The live figure of chapter 3: random pairs among sixteen texts, and how often they fall apart.
(() => {
  const { draw, fixed, frame, random } = poeLive.kit;
  const { parts } = poeLive.rails;
  const N = 16;
  const SEED = 24;
  const ALL = [];
  for (let i = 0; i < N; i++) for (let j = i + 1; j < N; j++) ALL.push({ first: i, second: j });

  // So many of all pairs, every set as likely as any other.
  const sample = (count, draws) => {
    const pairs = [...ALL];
    for (let k = 0; k < count; k++) {
      const at = k + Math.floor(draws() * (pairs.length - k));
      [pairs[k], pairs[at]] = [pairs[at], pairs[k]];
    }
    return pairs.slice(0, count);
  };
  const place = (i) => {
    const angle = (2 * Math.PI * i) / N - Math.PI / 2;
    return [180 + 112 * Math.cos(angle), 130 + 112 * Math.sin(angle)];
  };

  poeLive.figures["fig-live-connected"] = (figure) => {
    let size;
    let draws = null;
    let [tries, apart, counted] = [0, 0, null];
    let pairs = [];
    const drawOne = () => {
      pairs = sample(size(), draws);
      tries += 1;
      apart += Number(new Set(parts(N, pairs)).size > 1);
    };
    const redraw = (svg) => {
      if (counted !== size()) {
        // Another number of pairs is another question: its draws and its tally begin anew.
        draws = random(SEED);
        [tries, apart, counted] = [0, 0, size()];
        drawOne();
      }
      const label = parts(N, pairs);
      const sizes = new Map();
      label.forEach((piece) => sizes.set(piece, (sizes.get(piece) || 0) + 1));
      const pieces = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a));
      const look = (i) => `live-${Math.min(3, pieces.indexOf(label[i]))}`;
      pairs.forEach(({ first, second }) => {
        const [[x1, y1], [x2, y2]] = [place(first), place(second)];
        draw(svg, "line", { x1, y1, x2, y2, class: `live-line live-thin ${look(first)}` });
      });
      label.forEach((_, i) => {
        const [cx, cy] = place(i);
        draw(svg, "circle", { cx, cy, r: 9, class: `live-dot ${look(i)}` });
        if (pieces.length > 1 && label[i] !== pieces[0]) draw(svg, "circle", { cx, cy, r: 14, class: `live-line ${look(i)}` });
      });
      const share = apart / tries;
      const within = tries < 10 ? "" : ` ± ${fixed(100 * Math.sqrt((share * (1 - share)) / tries), 0)}`; // a standard error
      draw(svg, "text", { x: 14, y: 282, class: "live-label" }, `${apart} of ${tries} sets fell apart`);
      draw(svg, "rect", { x: 14, y: 290, width: 332, height: 12, class: "live-trough" });
      draw(svg, "rect", { x: 14, y: 290, width: 332 * share, height: 12, class: "live-energy" });
      draw(svg, "text", { x: 346, y: 282, class: "live-number", "text-anchor": "end" }, `${fixed(100 * share, 0)}%${within}`);
      const now = pieces.length === 1 ? "This set holds together." :
        `This set is in ${pieces.length} pieces, of ${pieces.map((piece) => sizes.get(piece)).join(", ")} texts.`;
      const words = `${now} Of ${tries} random set${tries === 1 ? "" : "s"} of ${size()} pairs, ${apart} fell apart.`;
      return { words, state: { size: size(), pairs, pieces: pieces.map((piece) => sizes.get(piece)), tries, apart } };
    };
    const live = frame(figure, { label: "Random pairs among sixteen texts", height: 310, redraw, keep: true });
    size = live.slider({ text: "pairs", low: 15, high: 48, step: 1, value: 24, show: (v) => fixed(v, 0) });
    live.button("Draw another set", drawOne);
    live.button("Draw a hundred", () => {
      for (let k = 0; k < 100; k++) drawOne();
    });
    live.restart(() => (counted = null));
    live.update();
  };
})();

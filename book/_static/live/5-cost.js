// The live figure about the cost of a call: chapter 11.
(() => {
  const { draw, fixed, frame } = poeLive.kit;
  const SUMMARY = 75; // tokens
  const QUESTION = 22;
  const ORDERS = {
    last: ["article", "first", "second", "question"],
    middle: ["article", "question", "first", "second"],
    front: ["question", "article", "first", "second"],
  };
  const COLOURS = {
    article: "var(--pst-color-text-muted)", first: "var(--live-0)",
    second: "var(--live-1)", question: "var(--live-2)",
  };

  // Tokens for one call, by part. Shared, a part is read once for every different beginning of a
  // prompt that ends with it.
  const perCall = (order, candidates, attributes, length) => {
    const calls = attributes * candidates * (candidates - 1);
    const branches = { article: 1, first: candidates, second: candidates - 1, question: attributes };
    let beginnings = 1;
    return order.map((part) => {
      beginnings *= branches[part];
      return { part, alone: length[part], shared: (beginnings * length[part]) / calls };
    });
  };
  const total = (parts, key) => parts.reduce((sum, part) => sum + part[key], 0);

  poeLive.figures["fig-live-call"] = (figure) => {
    let candidates, attributes, article, place;
    const redraw = (svg) => {
      const length = { article: article(), first: SUMMARY, second: SUMMARY, question: QUESTION };
      const parts = perCall(ORDERS[place()], candidates(), attributes(), length);
      const alone = total(parts, "alone");
      const shared = total(parts, "shared");
      const bar = (key, y, perToken) =>
        parts.reduce((x, part) => {
          const width = part[key] * perToken;
          const at = { x, y, width: Math.max(0, width - 1), height: 26 };
          draw(svg, "rect", { ...at, style: `fill: ${COLOURS[part.part]}` });
          return x + width;
        }, 6);
      const wide = 346;
      draw(svg, "text", { x: 6, y: 16, class: "live-label" }, `one by one: ${fixed(alone, 0)} tokens`);
      bar("alone", 24, wide / alone);
      draw(svg, "text", { x: 6, y: 74, class: "live-label" }, `shared: ${fixed(shared, 1)} tokens`);
      bar("shared", 82, wide / alone);
      draw(svg, "text", { x: 6, y: 132, class: "live-label" }, "shared, enlarged");
      bar("shared", 140, wide / shared);
      parts.forEach(({ part, shared: tokens }, k) => {
        const x = 6 + 87 * k;
        const look = { class: "live-label", style: `fill: ${COLOURS[part]}` };
        draw(svg, "text", { x, y: 184, ...look }, part);
        draw(svg, "text", { x, y: 201, ...look }, fixed(tokens, 1));
      });
      const words =
        `A call costs ${fixed(alone, 0)} tokens by itself and ${fixed(shared, 1)} in the tree: ` +
        `${fixed(alone / shared, 1)} times fewer.`;
      const state = {
        order: ORDERS[place()], candidates: candidates(), attributes: attributes(), length, alone, shared,
        parts: parts.map((part) => part.shared),
      };
      return { words, state };
    };
    const whole = (v) => fixed(v, 0);
    const live = frame(figure, { label: "What one call costs", height: 208, redraw });
    candidates = live.slider({ text: "candidates", low: 2, high: 40, step: 1, value: 16, show: whole });
    attributes = live.slider({ text: "attributes", low: 1, high: 8, step: 1, value: 4, show: whole });
    article = live.slider({ text: "article (tokens)", low: 0, high: 1500, step: 50, value: 450, show: whole });
    place = live.choice({
      text: "the question stands",
      value: "last",
      options: [["last", "last"], ["middle", "after the article"], ["front", "in front"]],
    });
    live.restart();
    live.update();
  };
})();

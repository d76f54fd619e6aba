// The first picture of "Two real judges": the product's lead over a rival, against the share of calls
// asked, for the judge, prompt and rival that a reader chooses. The page carries the stored numbers.
(() => {
  const { draw, firm, fixed, frame, path, scale, signed } = poeLive.kit;
  const [LEFT, RIGHT, TOP, FLOOR] = [30, 348, 20, 244];
  const DASHES = ["none", "7 3", "2 3"];
  const DOTS = ["6 2", "2 2"];
  const PARTS = ["margin", "cancellation"];

  // A line's value at a share of the calls, straight between stored budgets; its ends beyond them.
  const at = ({ share, value }, x) => {
    const after = share.findIndex((s) => s >= x);
    if (after <= 0) return after ? value[value.length - 1] : value[0];
    const part = (x - share[after - 1]) / (share[after] - share[after - 1]);
    return value[after - 1] + part * (value[after] - value[after - 1]);
  };
  // The share at which a lead is used up: the first at which the line falls to zero.
  const crossing = ({ share, value }) => {
    const after = value.findIndex((v, k) => k && v <= 0 && value[k - 1] > 0);
    if (after < 0) return null;
    return share[after - 1] + ((share[after] - share[after - 1]) * value[after - 1]) / (value[after - 1] - value[after]);
  };
  const nearest = ({ share, se }, x) =>
    share.map((_, k) => k).filter((k) => se[k] !== null).sort((a, b) => Math.abs(share[a] - x) - Math.abs(share[b] - x))[0];

  poeLive.figures["fig-live-crossing"] = (figure) => {
    const { judges, prompts, rivals, lines } = JSON.parse(document.getElementById("crossing-stored").textContent);
    let judge, prompt, rival, asked, input, select;
    let hand = false;

    // Over counting wins only the paper's prompt is stored.
    const settle = () => {
      select.disabled = rival() === "wins";
      if (select.disabled) select.value = "poe";
    };
    const redraw = (svg) => {
      settle();
      const find = (over, of = judge()) =>
        lines.find((line) => line.judge === of && line.over === over && line.prompt === prompt());
      const over = rival();
      const own = find(over);
      const parts = over === "gain" ? PARTS.map((part) => find(part)) : [];
      const which = judges.findIndex(({ id }) => id === judge());
      // A lead in two parts is drawn alone, any other beside those of the other judges.
      const drawn = judges.map(({ id }, k) => (parts.length && k !== which ? null : find(over, id)));
      const heights = [...drawn, ...parts].flatMap((line) => (line ? line.value : []));
      const top = Math.max(5.5, Math.ceil(1 + Math.max(...heights)));
      const x = scale([11, 102], [LEFT, RIGHT]);
      const y = scale([Math.min(-0.6 * top, Math.floor(Math.min(...heights))), top], [FLOOR, TOP]);
      const step = top > 10 ? 5 : 2;
      const share = Math.max(asked(), own.share[0]);
      const lead = at(own, share);
      const zero = crossing(own);

      Array.from({ length: 11 }, (_, k) => step * (k - 4)).filter((v) => v && y(v) > TOP && y(v) < FLOOR)
        .forEach((v) => {
          draw(svg, "line", { x1: LEFT, x2: RIGHT, y1: y(v), y2: y(v), class: "live-rule" });
          draw(svg, "text", { x: LEFT - 5, y: y(v) + 4, class: "live-tick", "text-anchor": "end" }, signed(v, 0));
        });
      draw(svg, "line", { x1: LEFT, x2: RIGHT, y1: y(0), y2: y(0), class: "live-line live-cross" });
      draw(svg, "text", { x: LEFT - 5, y: y(0) + 4, class: "live-tick", "text-anchor": "end" }, "0");
      draw(svg, "text", { x: RIGHT, y: 12, class: "live-name", "text-anchor": "end" }, "the product is ahead, points");
      draw(svg, "text", { x: RIGHT, y: FLOOR - 5, class: "live-name live-halo", "text-anchor": "end" }, "behind");
      [20, 40, 60, 80, 100].forEach((v) =>
        draw(svg, "text", { x: x(v), y: FLOOR + 16, class: "live-tick", "text-anchor": v === 100 ? "end" : "middle" }, v === 100 ? "100%" : `${v}`));
      draw(svg, "text", { x: (LEFT + RIGHT) / 2, y: FLOOR + 32, class: "live-name", "text-anchor": "middle" }, "questions asked, % of all");

      const trace = (line) => path(line.share.map((s, k) => [x(s), y(line.value[k])]));
      drawn.forEach((line, k) => {
        if (!line) return;
        const look = `stroke-dasharray: ${DASHES[k]}; ${k === which ? "stroke-width: 3" : "stroke-opacity: 0.6"}`;
        draw(svg, "path", { d: trace(line), class: `live-line live-${k}`, style: look });
      });
      own.se.forEach((se, k) => {
        if (se === null) return;
        const [px, low, high] = [x(own.share[k]), y(own.value[k] - 2 * se), y(own.value[k] + 2 * se)];
        draw(svg, "line", { x1: px, x2: px, y1: low, y2: high, class: `live-bar live-${which}` });
      });
      parts.forEach((line, k) => {
        draw(svg, "path", { d: trace(line), class: "live-line live-force-line", style: `stroke-width: 1.5; stroke-dasharray: ${DOTS[k]}` });
      });
      // Who is who stands below zero on the left, where few lines ever come.
      const rows = [
        ...judges.map(({ name, texts }, k) => ({ text: `${name}, ${texts}`, look: `live-${k}`, dash: DASHES[k], own: k === which })),
        ...parts.map((_, k) => ({ text: PARTS[k], look: "live-force-line", dash: DOTS[k], part: true })),
      ].filter(({ own, part }) => !parts.length || own || part);
      rows.forEach(({ text, look, dash, part, own: bold }, k) => {
        const at = FLOOR - 6 - 16 * (rows.length - 1 - k);
        draw(svg, "line", { x1: LEFT + 2, x2: LEFT + 24, y1: at - 4, y2: at - 4, class: `live-line ${look}`, style: `stroke-dasharray: ${dash}; stroke-width: ${bold ? 3 : 2}` });
        draw(svg, "text", { x: LEFT + 30, y: at, class: `live-name live-halo ${part ? "" : `live-text ${look}`}`, style: bold ? "font-weight: 600" : "" }, text);
      });
      if (zero !== null) {
        draw(svg, "circle", { cx: x(zero), cy: y(0), r: 5.5, class: "live-hollow" });
        draw(svg, "text", { x: x(zero) - 4, y: y(0) + 18, class: "live-name live-halo", "text-anchor": "end" }, `0 at ${fixed(zero, 0)}%`);
      }
      draw(svg, "line", { x1: x(share), x2: x(share), y1: TOP, y2: FLOOR, class: "live-cursor" });
      draw(svg, "circle", { cx: x(share), cy: y(lead), r: 6.5, class: `live-dot live-${which}` });
      const beside = x(share) > 250 ? { x: x(share) - 11, "text-anchor": "end" } : { x: x(share) + 11 };
      draw(svg, "text", { ...beside, y: y(lead) - 8, class: `live-label live-halo live-${which}` }, signed(lead, 1));
      const handle = draw(svg, "circle", { cx: x(share), cy: y(lead), r: 19, class: "live-handle" });
      firm(handle).addEventListener("pointerdown", (event) => {
        event.preventDefault();
        svg.setPointerCapture(event.pointerId);
        hand = true;
      });

      const { name, texts } = judges[which];
      const near = nearest(own, share);
      const [margin, cancellation] = parts.map((line) => at(line, share));
      const words =
        `${name} on ${own.contexts} ${texts}${own.about ? ` (${own.about})` : ""}: with ${fixed(share, 0)}% of the calls the product is ` +
        `${fixed(Math.abs(lead), 1)} points ${lead < 0 ? "behind" : "ahead of"} ${rivals.find(([key]) => key === over)[1]}` +
        (parts.length ? `: margin ${signed(margin, 1)}, cancellation ${signed(cancellation, 1)}. ` : ". ") +
        `Two standard errors at ${fixed(own.share[near], 0)}%: ${fixed(2 * own.se[near], 1)}. ` +
        (zero === null ? "The lead does not fall to zero." : `The lead is gone at ${fixed(zero, 0)}%.`) +
        (asked() < own.share[0] ? " Nothing is stored for fewer calls." : "");
      return { words, state: { judge: judge(), prompt: prompt(), over, asked: asked(), share, lead, zero, parts: [margin ?? null, cancellation ?? null] } };
    };

    const live = frame(figure, { label: "The lead of a product of experts, by the share of calls asked", height: 280, redraw });
    asked = live.slider({ text: "asked", low: 13, high: 100, step: 1, value: 50, show: (v) => `${fixed(v, 0)}%` });
    judge = live.choice({ text: "judge", options: judges.map(({ id, name, texts }) => [id, `${name}, ${texts}`]), value: judges[0].id });
    rival = live.choice({ text: "ahead of", options: rivals, value: "wins" });
    prompt = live.choice({ text: "prompt", options: prompts, value: "poe" });
    input = live.root.querySelector("input[type=range]");
    select = live.root.querySelectorAll("select")[2];
    live.restart();
    // On a phone the picture and its caption come first; the point can be dragged, the rest is a tap away.
    if (matchMedia("(max-width: 600px)").matches) {
      const controls = live.root.querySelector(".live-controls");
      const more = document.createElement("details");
      const summary = document.createElement("summary");
      more.className = "live-more";
      summary.textContent = "Choose judge, rival and prompt";
      controls.replaceWith(more);
      more.append(summary, controls);
    }
    live.svg.addEventListener("pointermove", (event) => {
      if (!hand) return;
      const box = live.svg.getBoundingClientRect();
      const px = ((event.clientX - box.left) * 360) / box.width;
      input.value = 11 + ((px - LEFT) / (RIGHT - LEFT)) * 91;
      input.dispatchEvent(new Event("input"));
    });
    ["pointerup", "pointercancel"].forEach((name) => live.svg.addEventListener(name, () => (hand = false)));
    live.update();
  };
})();

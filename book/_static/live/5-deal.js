// The live figure of chapter 1: the reader of this page gives every summary one of three readers.
(() => {
  const { NAMES, draw, frame, path, scale } = poeLive.kit;
  const MARKS = [[5, 5, 4], [4, 3, 3], [4, 4, 3], [2, 1, 1]]; // by Ada, Ben, Cleo, Dan and reader
  const DEALT = [1, 0, 2, 0]; // the deal of the still picture
  const READERS = ["Reader 1", "Reader 2", "Reader 3"];
  const [BEN, CLEO] = [1, 2];
  const BESIDE = [0, -10, 10, 0]; // Ben and Cleo share marks: they stand side by side

  // Of all ways to hand the summaries out: how many put Ben above Cleo, and how many tie them.
  const count = (together) => {
    const found = { deals: 0, above: 0, tied: 0 };
    for (let deal = 0; deal < 81; deal++) {
      const reader = MARKS.map((_, i) => Math.floor(deal / 3 ** i) % 3);
      if (together && reader[BEN] !== reader[CLEO]) continue;
      const lead = MARKS[BEN][reader[BEN]] - MARKS[CLEO][reader[CLEO]];
      found.deals += 1;
      found.above += Number(lead > 0);
      found.tied += Number(lead === 0);
    }
    return found;
  };

  // From the highest mark to the lowest; those who share one are joined by "and".
  const ranked = (marks) =>
    [5, 4, 3, 2, 1].map((mark) => marks.flatMap((m, i) => (m === mark ? [NAMES[i]] : [])).join(" and ")).filter(Boolean).join(", ");

  poeLive.figures["fig-live-deal"] = (figure) => {
    let readers, shown;
    const redraw = (svg) => {
      const together = shown() === "together";
      const dealt = readers.map((one) => Number(one()));
      if (together) dealt[CLEO] = dealt[BEN];
      const marks = dealt.map((reader, i) => MARKS[i][reader]);
      const at = (i, reader) => [92 + 88 * reader + BESIDE[i], scale([1, 5], [206, 34])(MARKS[i][reader])];
      [1, 2, 3, 4, 5].forEach((mark) => {
        const y = scale([1, 5], [206, 34])(mark);
        draw(svg, "line", { x1: 48, x2: 306, y1: y, y2: y, class: "live-rule" });
        draw(svg, "text", { x: 40, y: y + 4, class: "live-tick", "text-anchor": "end" }, mark);
      });
      draw(svg, "text", { x: 8, y: 14, class: "live-name" }, "marks");
      READERS.forEach((name, r) => draw(svg, "text", { x: 92 + 88 * r, y: 238, class: "live-name", "text-anchor": "middle" }, name));
      MARKS.forEach((row, i) => {
        draw(svg, "path", { d: path(row.map((_, r) => at(i, r))), class: `live-line live-thin live-${i}` });
      });
      MARKS.forEach((row, i) =>
        row.forEach((_, r) => {
          const [cx, cy] = at(i, r);
          draw(svg, "circle", { cx, cy, r: 6, class: `live-dot live-${i}` });
          if (dealt[i] === r) draw(svg, "circle", { cx, cy, r: 11, class: `live-line live-${i}` });
          const tap = draw(svg, "circle", { cx, cy, r: 13, class: "live-tap" });
          tap.addEventListener("click", () => give(i, r));
        }));
      MARKS.forEach((_, i) => {
        const [, y] = at(i, 2);
        draw(svg, "text", { x: 312, y: y + 4 + BESIDE[i], class: `live-label live-${i}` }, NAMES[i]);
      });
      const all = count(together);
      const lead = marks[BEN] - marks[CLEO];
      const said = lead > 0 ? "Ben is above Cleo" : lead < 0 ? "Cleo is above Ben" : "Ben and Cleo tie";
      const words =
        `${said}. From best to worst: ${ranked(marks)}. ` +
        `Of the ${all.deals} ways to hand them out${together ? " with Ben and Cleo together" : ""}, ${all.above} put Ben above Cleo and ${all.tied} tie them.`;
      return { words, state: { together, dealt, marks, ...all } };
    };
    const live = frame(figure, { label: "One reader for each summary", height: 248, redraw });
    const options = READERS.map((name, r) => [String(r), name]);
    readers = DEALT.map((reader, i) => live.choice({ text: `${NAMES[i]}’s reader`, options, value: String(reader) }));
    shown = live.choice({
      text: "Ben and Cleo are read", value: "apart",
      options: [["apart", "by a reader each"], ["together", "together, by Ben’s reader"]],
    });
    const selects = live.root.querySelectorAll("select");
    const give = (i, reader) => {
      const to = shown() === "together" && i === CLEO ? BEN : i;
      selects[to].value = reader;
      selects[to].dispatchEvent(new Event("change"));
    };
    live.restart();
    live.update();
  };
})();

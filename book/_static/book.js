// What a narrow screen needs. For formulas an observer, because solutions open, windows turn and typesetting
// takes time; in the next frame, because what is measured must not change while it is observed.
(() => {
  const ROOM = 40; // pixels for brackets and full stops beside a formula that is kept with them
  const SMALLEST = 0.7; // of its size, to which a displayed formula shrinks before it scrolls

  // A formula in a sentence cannot be broken into lines: a wide one scrolls inside itself.
  const fitInline = (formula) => {
    const block = formula.closest("p, li, td, th, dd, dt, figcaption, h1, h2, h3, div");
    const natural = formula.firstElementChild.getBoundingClientRect().width;
    formula.classList.toggle("jc-wide", natural > block.clientWidth);
    const kept = formula.closest(".jc-kept");
    kept?.classList.toggle("jc-whole", natural < block.clientWidth - ROOM);
  };

  const fitDisplayed = (formula) => {
    formula.dataset.size ??= formula.style.fontSize;
    formula.style.fontSize = formula.dataset.size;
    const share = formula.clientWidth / formula.scrollWidth;
    if (!(share < 1)) return;
    const size = parseFloat(getComputedStyle(formula).fontSize);
    formula.style.fontSize = `${(size * Math.max(SMALLEST, 0.985 * share)).toFixed(2)}px`;
  };

  // On a phone a table that would scroll far sideways, or whose words stand in columns too narrow for
  // them, becomes a list: a row under its first cell, every value behind its column's name. Heat maps
  // keep their shape, and so do tables with cells that span several.
  const PHONE = "(max-width: 36rem)"; // as in reproduction.css
  const SIDEWAYS = 24; // pixels that a reader may push
  const TALL = 170; // pixels of a row of three columns: seven lines
  const NAME = 12, HALF = 20; // characters of a name, and of it and its value, in half the width
  const stack = (table) => {
    if (table.matches(".heat, .errata, .equations, .answers")) return;
    const itself = table.matches(".stacks:not(.jc-stacked)"); // a list on a phone without any help
    table.classList.remove("jc-stacked", "jc-prose", "jc-tight");
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const share = () => {
      for (const row of rows) {
        let alone = null; // a cell whose neighbour has the whole width has it too
        const wide = () => alone?.classList.add("jc-wide");
        for (const cell of [...row.cells].slice(1)) {
          const name = (cell.dataset.label ?? "").length, value = cell.textContent.trim().length;
          cell.classList.toggle("jc-wide", name > NAME || name + value > HALF);
          if (!value) continue;
          if (cell.matches(".jc-wide")) wide();
          alone = alone || cell.matches(".jc-wide") ? null : cell;
        }
        wide();
      }
    };
    table.classList.toggle("stacks", itself);
    if (!table.tHead || !table.clientWidth) return;
    let room = table.parentElement;
    while (getComputedStyle(room).overflowX === "visible") room = room.parentElement;
    const phone = matchMedia(PHONE).matches;
    if (!phone) {
      table.classList.toggle("jc-tight", room.scrollWidth > room.clientWidth);
      return;
    }
    if (itself) {
      share();
      return;
    }
    const heads = [...table.tHead.rows];
    const tall = table.matches(".table") && rows.some((row) => row.cells.length > 2 && row.clientHeight > TALL);
    if (room.scrollWidth - room.clientWidth <= SIDEWAYS && !tall) return;
    if ([...heads, ...rows].some((row) => [...row.cells].some((c) => c.colSpan + c.rowSpan > 2))) return;
    const named = (at) => heads.map((row) => row.cells[at]?.textContent.trim()).filter(Boolean).at(-1) ?? "";
    const counted = rows.every((row, at) => row.cells[0].matches("th") && row.cells[0].textContent.trim() === `${at}`);
    for (const row of rows) {
      [...row.cells].forEach((cell, at) => {
        const said = cell.textContent.trim();
        cell.classList.toggle("jc-none", !said || (!at && counted));
        if (at || /^[\d.,]+$/.test(said)) cell.dataset.label = named(at);
      });
    }
    table.classList.add("stacks", "jc-stacked");
    share();
    table.classList.toggle("jc-prose", table.matches(".table"));
  };

  const fit = (formula) =>
    formula.getAttribute("display") === "true" ? fitDisplayed(formula) : fitInline(formula);

  // A browser may break the line on either side of a formula; not before its full stop.
  const keepPunctuation = (formula) => {
    const math = formula.closest("span.math") ?? formula;
    const cut = (text, pattern) => {
      const found = text?.nodeType === Node.TEXT_NODE ? pattern.exec(text.data)?.[0] : null;
      if (found) text.data = text.data.replace(pattern, "");
      return found ?? "";
    };
    const before = cut(math.previousSibling, /[([‘“]$/);
    const after = cut(math.nextSibling, /^\S{1,4}(?=\s|$)/);
    if (!before && !after) return;
    const kept = document.createElement("span");
    kept.className = "jc-kept";
    math.before(kept);
    kept.append(before, math, after);
  };

  window.addEventListener("load", async () => {
    let moved = false; // by the reader
    for (const by of ["wheel", "touchstart", "pointerdown", "keydown"]) {
      window.addEventListener(by, () => { moved = true; }, { once: true, passive: true });
    }
    // Names such as Mistral-7B stay in one line; longer headings may break.
    for (const head of document.querySelectorAll("article table.dataframe tbody th")) {
      head.classList.toggle("jc-short", head.textContent.trim().length < 15);
    }
    const tables = [...document.querySelectorAll("article table")];
    const stackAll = () => tables.forEach(stack);
    window.addEventListener("resize", stackAll);
    for (const folded of document.querySelectorAll("article details")) {
      folded.addEventListener("toggle", stackAll);
    }
    stackAll();
    if (!window.MathJax?.startup) return;
    await MathJax.startup.promise;
    stackAll();
    const formulas = [...document.querySelectorAll("article mjx-container")];
    const widths = new Map();
    const watch = new ResizeObserver((seen) =>
      requestAnimationFrame(() => {
        for (const { target, contentRect } of seen) {
          if (widths.get(target) === contentRect.width) continue;
          widths.set(target, contentRect.width);
          fit(target);
        }
      }));
    for (const formula of formulas) {
      if (formula.getAttribute("display") !== "true") keepPunctuation(formula);
      fit(formula);
      watch.observe(formula);
    }
    window.addEventListener("resize", () => formulas.forEach(fit));
    // Formulas that were fitted moved what stands below them: once more to where the address says.
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place && !moved) requestAnimationFrame(() => place.scrollIntoView());
  });
})();

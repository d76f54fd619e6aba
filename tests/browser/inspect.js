// Runs inside a rendered page and returns what a reader would stumble over,
// as a list of sentences. Everything else is checked from Python.
async () => {
  const problems = [];
  const article = document.querySelector("article, main") || document.body;
  const short = (text) => text.replace(/\s+/g, " ").trim().slice(0, 80);

  // Let MathJax, the fonts and the images finish first.
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  await document.fonts.ready;
  const images = [...document.querySelectorAll("img")];
  for (const image of images) image.loading = "eager";
  await Promise.all(
    images.map((i) => i.complete || new Promise((done) => (i.onload = i.onerror = done))),
  );

  for (const image of images) {
    const name = image.getAttribute("src");
    if (!image.naturalWidth) problems.push(`image does not load: ${name}`);
    if (article.contains(image) && !(image.alt || "").trim())
      problems.push(`image without alternative text: ${name}`);
  }

  // Prose, hidden solutions included: no code, no typeset formulas.
  const prose = article.cloneNode(true);
  for (const part of prose.querySelectorAll("pre, code, script, style, svg, mjx-container"))
    part.replaceWith(" ");
  const patterns = {
    "raw math": /\\\(|\\\)|\\\[|\\\]|\\(?:begin|end)\{|\$\$|\$\S(?:[^$\n]*\S)?\$|\\[A-Za-z]{2,}/,
    "math that failed": /Math input error|Math Processing Error/i,
    "unresolved reference or role": /\?\?|\[\?\]|\{[a-z]+(?:[:-][a-z]+)*\}|:::|```/,
  };
  for (const [defect, pattern] of Object.entries(patterns)) {
    const match = pattern.exec(prose.textContent);
    if (match) {
      const at = Math.max(0, match.index - 25);
      problems.push(`${defect} in the text: ${short(prose.textContent.slice(at, at + 80))}`);
    }
  }
  for (const node of article.querySelectorAll(
    'mjx-merror, [data-mjx-error], mjx-assistive-mml [mathcolor="red"]',
  ))
    problems.push(`math that failed: ${short(node.dataset.mjxError || node.textContent)}`);
  for (const node of article.querySelectorAll(".problematic, .system-message"))
    problems.push(`Sphinx left a problem: ${short(node.textContent)}`);
  for (const output of article.querySelectorAll(".cell_output pre")) {
    const match = /<(?:Figure|Axes|matplotlib|seaborn)[^>]*>|Text\(0/.exec(output.textContent);
    if (match) problems.push(`stray plotting output: ${short(match[0])}`);
  }

  for (const paragraph of article.querySelectorAll("p"))
    if (/^\|.*\|.*\|/s.test(paragraph.textContent.trim()))
      problems.push(`a table that was read as words: ${short(paragraph.textContent)}`);

  // On a phone a table of the book becomes a list before it scrolls far; heat maps and spanning cells may.
  if (matchMedia("(max-width: 36rem)").matches)
    for (const table of article.querySelectorAll(".bd-article table:not(.heat, :has([colspan], [rowspan]))")) {
      let room = table.parentElement;
      while (room !== article && getComputedStyle(room).overflowX === "visible") room = room.parentElement;
      const beyond = table.getBoundingClientRect().right - room.getBoundingClientRect().right;
      if (room !== article && beyond > 30)
        problems.push(`a table scrolls by ${Math.round(beyond)} px: ${short(table.tHead?.textContent ?? "")}`);
    }

  // The page must not scroll sideways, nor lose what sticks out.
  window.scrollTo(10000, 0);
  const wide = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
  if (window.scrollX > 0 || wide > document.documentElement.clientWidth)
    problems.push(`page scrolls sideways: ${wide} px wide in ${window.innerWidth}`);
  window.scrollTo(0, 0);
  const scrolls = (node) => {
    for (; node && node !== document.body; node = node.parentElement)
      if (/auto|scroll/.test(getComputedStyle(node).overflowX)) return true;
    return false;
  };
  const right = document.documentElement.clientWidth + 1;
  const sticksOut = [...article.querySelectorAll("*")].find(
    (node) =>
      node.getBoundingClientRect().right > right &&
      !node.closest("mjx-assistive-mml, .visually-hidden, .sr-only") &&
      !scrolls(node),
  );
  if (sticksOut)
    problems.push(`content is cut off at the right: <${sticksOut.localName}> ${short(sticksOut.textContent)}`);
  return problems;
}

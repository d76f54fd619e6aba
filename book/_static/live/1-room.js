// What a room of people says about the same things: their answers in a line of letters, and errors
// that know who said what. tests/book/test_room.py runs it on node.
poeLive.room = (() => {
  const { nextPair, rank, reach95, toCsv } = poeLive.rails;
  const SAID = [0.8, 0.6, 0.5, 0.4, 0.2]; // as a to e
  const FEWEST = 5; // people from whom on it shows how far they differ
  const CODE = /\bp([0-9a-z]{1,7})-([0-9a-z]{3})-([a-e]+)\b/i;

  // Three letters of a list of names, so that a line is not read with other names.
  const mark = (names) => {
    const sum = [...names.join("\n")].reduce((hash, c) => (Math.imul(hash, 31) + c.codePointAt(0)) >>> 0, 7);
    return (sum % 36 ** 3).toString(36).padStart(3, "0");
  };

  // The questions follow from the seed and the answers, so seed and answers say everything.
  const replayed = (n, seed, said) => {
    const answers = [];
    said.forEach((p) => answers.push({ ...nextPair(n, answers, seed), p }));
    return answers;
  };

  // p1k2m3-0ab-aadbc; null where the answers are of other questions.
  const code = (names, answers, seed) => {
    const same = replayed(names.length, seed, answers.map(({ p }) => p))
      .every(({ first, second }, k) => first === answers[k].first && second === answers[k].second);
    const letters = answers.map(({ p }) => "abcde"[SAID.indexOf(p)]);
    return same && letters.length && letters.every(Boolean) ? `p${seed.toString(36)}-${mark(names)}-${letters.join("")}` : null;
  };

  // A pasted text with a table in place of every such line; what is about other names stays.
  const expanded = (text, names) =>
    text.split(/\r?\n/).map((line) => {
      const [, seed, of, letters] = CODE.exec(line) ?? [];
      if (!letters || !names.length || of.toLowerCase() !== mark(names)) return line;
      const said = [...letters.toLowerCase()].map((letter) => SAID["abcde".indexOf(letter)]);
      return toCsv(names, replayed(names.length, parseInt(seed, 36), said), `p${seed.toLowerCase()}`);
    }).join("\n");

  // Scores as by rank; errors that take a person's answers together, because people have tastes:
  // the sandwich with G / (G - 1) for G people, and G - 1 degrees of freedom. null for few people.
  const rankRoom = (n, comparisons, judges) => {
    const people = [...new Set(judges)];
    if (people.length < FEWEST || judges.some((who) => !who)) return null;
    const found = rank(n, comparisons);
    const pull = people.map(() => Array(n).fill(0)); // of each person's misfits, on every item
    comparisons.forEach(({ first, second }, k) => {
      const row = pull[people.indexOf(judges[k])];
      row[first] += found.misfits[k];
      row[second] -= found.misfits[k];
    });
    const moved = pull.map((row) => found.bread.map((one) => one.reduce((sum, v, i) => sum + v * row[i], 0)));
    const [errors, reach] = [Array(n).fill(0), reach95(people.length - 1)];
    moved.forEach((row) => row.forEach((v, i) => (errors[i] += v * v)));
    const share = people.length / (people.length - 1);
    return { ...found, reach, errors: errors.map((v) => Math.sqrt(share * v)) };
  };

  return { code, expanded, mark, rankRoom };
})();

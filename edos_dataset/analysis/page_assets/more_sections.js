// Films, words, what was dropped, copies, and labels to doubt.
function filmsSection() {
  const known = first.years.filter((one) => one.year !== null), content = [];
  if (known.length) {
    const decades = new Map(), from = known[0].year, to = known[known.length - 1].year, of = new Map(known.map((one) => [one.year, one.dialogues]));
    const years = range(to - from + 1).map((step) => from + step);
    for (const { year, dialogues, turns } of known) {
      const decade = `${Math.floor(year / 10) * 10}s`, row = decades.get(decade) ?? [0, turns.map(() => 0)];
      decades.set(decade, [row[0] + dialogues, row[1].map((number, label) => number + turns[label])]);
    }
    const { names, kinds } = first.labels, share = (turns, kind) => sum(turns.filter((_, label) => kinds[label] === kind)) / (sum(turns) || 1);
    content.push(bars(`Dialogues by year of the film, known of ${count(sum(known.map((one) => one.dialogues)))} of ${count(first.sizes.dialogues)}`, `Dialogues by year, ${from} to ${to}.`, years, years.map((year) => of.get(year) ?? 0), "year", "dialogues",
      [folded("As a table", () => table("Dialogues by year", [["year"], numbered("dialogues")], known.map((one) => [String(one.year), count(one.dialogues)]))),
      folded("By decade, with what is unusual, as a table", () => table("Decades", [["decade"], numbered("dialogues"), numbered("emotions"), numbered("intents"), numbered("neutral"), ["more frequent than in all", "words"]],
        [...decades].map(([decade, [dialogues, turns]]) => [decade, count(dialogues), percent(share(turns, "emotion")), percent(share(turns, "response intent")), percent(share(turns, "neutral")), unusual(turns, names)])))]));
  }
  if (first.films) {
    const { unlike_all: rows, dialogues_a_film: spread, least_turns: least } = first.films;
    content.push(el("p", {}, `Dialogues a film: ${Object.entries(spread).map(([name, number]) => `${name} ${count(number)}`).join(", ")}.` + (first.sizes.films_estimated ? ` The films below are among ${count(first.films.drawn)} drawn by chance.` : "")),
      rows.length ? table(`Films of ${least} labelled turns or more whose labels are least like those of all`, [["film"], numbered("dialogues"), numbered("turns"), numbered("KL from all"), ["labels above their share", "words"]],
        rows.map((one) => [one.film, count(one.dialogues), count(one.turns), fixed(one.kl, 3), one.most.map((label) => first.labels.names[label]).join(", ") || "–"])) :
        el("p", { class: "soft" }, `No film has ${least} labelled turns, from which on films are compared.`));
  }
  if (content.length) section("films", "Films and years", ...content);
}

// Labels whose share of some turns is most above their share of all.
function unusual(turns, names) {
  const total = sum(turns) || 1;
  const above = names.map((_, label) => turns[label] / total / ((first.label_turns[label].share || 1) + 1e-9));
  return range(names.length).filter((label) => turns[label] >= 10 && above[label] > 1.1).sort((one, other) => above[other] - above[one]).slice(0, 3).map((label) => names[label]).join(", ") || "–";
}

function wordsSection() {
  const { by_label: found, dialogues } = first.words;
  if (!Object.keys(found).length) return;
  section("words", "Words that mark a label", el("p", {}, `Log-odds of a word in turns of the label against all others, with an informative prior (Monroe et al., 2008), in standard deviations; ${dialogues < first.sizes.dialogues ? `of ${count(dialogues)} dialogues drawn by chance` : "of all dialogues"}.`),
    table("Words by label", [["label", "label"], ["words, with their log-odds", "words"]], Object.entries(found).map(([label, words]) => [bothNames(first.labels, first.labels.names.indexOf(label)), words.map(([word, z]) => `${word} ${fixed(z, 1)}`).join(" · ")])));
}

function rejectedSection() {
  if (!figures.manifest) return;
  const rows = figures.manifest.rejected;
  section("rejected", "What was dropped", rows.length ? table("What the run dropped, and why", [["stage"], ["reason"], numbered("how much"), ["unit"], ["meaning", "words"]], rows.map((one) => [one.stage, one.reason, count(one.count), one.unit, one.meaning.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part))])) : el("p", {}, "The run dropped nothing."),
    rejects.length ? el("details", {}, el("summary", {}, "Examples"), el("ul", {}, rejects.map((one) => el("li", {}, el("b", {}, `${one.reason}: `), el("span", { dir: "auto" }, one.texts.join(" / ") || one.detail || one.document)))))
      : el("p", { class: "soft" }, "The run kept no texts of what it dropped: give --rejects to edos curate to see examples here."));
}

function copiesSection() {
  const { within, between: pairs, against, least_words: words, share, least, hashes } = figures.copies;
  const columns = [["dialogues of"], ["that are also in"], numbered("dialogues"), numbered("copies"), numbered("copies and near-copies"), numbered("copies, or share their longest turn")];
  const part = (number, of) => `${count(number)} (${percent(of ? number / of : null, 2)})`;
  const row = (of, where, one) => [of, where, count(one.dialogues), ...[one.copies, one.alike, one.shared_turn].map((number) => part(number, one.dialogues))];
  const names = ({ of, in: where, data }) => (of === null ? `${first.name} and ${figures.data[data].name}` : of === where ? of : `${of} and ${where}`);
  const beside = (pair) => el("tr", {}, pair.map((one) => el("td", {}, el("span", { class: "soft" }, one.id), one.texts.map((text) => el("div", { dir: "auto" }, short(text, 300))))));
  section("copies", "Copies and leaks", el("p", {}, `Copies say the same in all their turns, case, punctuation and blanks aside. Near-copies share ${percent(share, 0)} of the different runs of four words that the shorter one says, and at least ${least}, or all where it has fewer; compared are about ${hashes} runs of a dialogue, so a short one inside a long one may be missed, and by runs that more than 32 dialogues say not each with each. Within a split the dialogues beyond the first count. A shared longest turn has ${words} words or more.`),
    table("Copies and near-copies", columns, [...Object.entries(within).map(([split, one]) => row(split, "the same split", one)), ...pairs.map((one) => row(one.of, one.in, one)), ...Object.entries(against).map(([name, one]) => row(first.name, name, one))]),
    shown.alike.length ? el("h3", {}, "Some of them, side by side") : null,
    shown.alike.map((one) => folded(names(one), () => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": names(one) }, el("table", {}, el("tbody", {}, one.pairs.map(beside)))))));
}

function doubtfulSection() {
  const { names } = first.labels, groups = Object.entries(shown.doubtful).filter(([, ids]) => ids.length), { doubts } = figures;
  const link = (id) => (byId.has(id) ? el("a", { href: `#${new URLSearchParams({ dialogue: id })}` }, id) : id);
  const least = (name, id) => byId.get(id).turns.filter(([, label, sure]) => label !== null && names[label] === name && sure !== null).sort((one, other) => one[2] - other[2])[0];
  const content = [];
  if (doubts) {
    const listed = Object.entries(shown.doubted).filter(([, turns]) => turns.length);
    content.push(el("h3", {}, "By disagreement"), el("p", {}, `Confident learning (Northcutt et al., 2021): another label is as probable as is usual for it, at least its threshold, the mean probability of the turns that have it, and more probable than all others that are. So ${count(doubts.doubted)} of ${plural(doubts.turns, "turn")} with probabilities are doubted. Where the label is the model's own first choice they are few; among labels by people they are those that the model reads otherwise.`),
      folded("Thresholds and doubted turns by label", () => table("By label", [["label", "label"], numbered("turns"), numbered("doubted"), numbered("share"), numbered("threshold")], doubts.by_label.map((one) => [one.label, count(one.turns), count(one.doubted), percent(one.turns ? one.doubted / one.turns : null, 2), fixed(one.threshold)]))),
      doubts.pairs.length ? folded("What is taken for what", () => table("Most frequent pairs", [["label given", "label"], ["likely label", "label"], numbered("turns")], doubts.pairs.map((one) => [one.given, one.likely, count(one.turns)]))) : null,
      el("div", { class: "folds" }, listed.map(([name, turns]) => folded(name, () => table(`Turns labelled ${name} that are likely something else`, [["turn"], ["likely label", "label"], numbered("confidence"), ["dialogue"]], turns.map(({ id, turn, likely }) => [el("span", { dir: "auto" }, turn[0]), likely, fixed(turn[2]), link(id)]))))));
  }
  if (groups.length) content.push(el("h3", {}, "By confidence"), el("p", {}, "Of each label the turns that the model was least sure of, with the label that it thought next."), el("div", { class: "folds" }, groups.map(([name, ids]) =>
    folded(name, () => table(`Least sure turns of ${name}`, [["turn"], numbered("confidence"), ["next label"], ["dialogue"]], ids.map((id) => [id, least(name, id)]).filter(([, turn]) => turn).map(([id, turn]) =>
      [el("span", { dir: "auto" }, turn[0]), fixed(turn[2]), turn[3] === null ? "–" : `${names[turn[3]]} ${fixed(turn[4])}`, link(id)]))))));
  if (content.length) section("doubtful", "Labels to doubt", ...content);
}

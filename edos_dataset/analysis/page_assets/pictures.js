// The kinds of pictures: columns, stacked columns, labels in rows, a matrix, and how many labels are right.
function bars(caption, text, names, values, xtitle, ytitle, after) {
  return picture(caption, text, (width, height) => {
    const axis = upright(width, height, steps(Math.max(...values)), ytitle), band = (axis.right - axis.left) / names.length;
    return [axis.nodes, values.map((value, place) => box(axis.left + (place + 0.04) * band, axis.at(value), band * 0.92, axis.bottom - axis.at(value), paint("emotion"), { "data-say": `${names[place]}: ${count(value)}` })),
      below(axis, names.map(String), xtitle)];
  }, { below: after, height: 300 }).made;
}

// A histogram of lengths: the last bin holds all from there on, longer tails are cut where little is left.
function lengths(caption, counts, unit, what) {
  const total = sum(counts);
  let end = counts.length - 1, tail = 0;
  while (end > 1 && tail + counts[end] <= total * 0.002) tail += counts[end--];
  const cut = tail > 0 || end === counts.length - 1;
  const width = Math.max(1, Math.ceil((end + 1) / 60));
  const bins = [];
  for (let start = 0; start <= end; start += width) {
    const stop = Math.min(start + width - 1, end);
    bins.push([start === stop ? String(start) : `${start}–${stop}`, sum(counts.slice(start, stop + 1))]);
  }
  if (tail > 0) bins.push([`${end + 1}+`, tail]);
  else if (cut) bins[bins.length - 1][0] = `${end}+`;
  if (bins[0][1] === 0) bins.shift();
  let seen = 0, median = 0;
  while (median < counts.length - 1 && (seen += counts[median]) * 2 < total) median += 1;
  const text = `${caption}. Half of the ${what} have ${median} ${unit} or fewer.`;
  return bars(caption, text, bins.map(([name]) => name), bins.map(([, number]) => number), unit, what,
    folded("As a table", () => table(caption, [[unit], numbered(what), numbered("share")], bins.map(([name, number]) => [name, count(number), percent(number / total)]))));
}

// Shares of the three groups in columns, told apart by hatching as well as by colour; shares: [column][group], 0 to 1.
function stacked(caption, text, names, shares, xtitle, after) {
  return picture(caption, text, (width, height) => {
    const hatched = (x, y, wide_, high, group) => [box(x, y, wide_, high, ofKind(KINDS[group])),
      group === 1 ? range(Math.floor(high / 7)).map((row) => line(x, y + 7 * (row + 0.7), x + wide_, y + 7 * (row + 0.7), "card", { "stroke-opacity": 0.35 })) : null];
    const marks = legend(KINDS.map((name, group) => ({ name, mark: (x, y) => hatched(x - 6, y - 6, 12, 12, group) })), 56, 4, width);
    const axis = upright(width, height, [0, 20, 40, 60, 80, 100], "share of turns", (tick) => `${tick} %`, marks.height + 16), band = (axis.right - axis.left) / names.length;
    const parts = shares.map((column, place) => {
      let under = 0;
      return column.map((share, group) => {
        const top = axis.at(100 * (under + share)), high = axis.at(100 * under) - top, x = axis.left + (place + 0.08) * band;
        under += share;
        return [hatched(x, top, band * 0.84, high, group), box(x, top, band * 0.84, high, "transparent", { "data-say": `turn ${names[place]}, ${KINDS[group]}: ${percent(share)}` })];
      });
    });
    return [axis.nodes, parts, below(axis, names, xtitle), marks.nodes];
  }, { below: after, height: 340 }).made;
}

const ROW = 19, LOW = 1e-4;
const asPercent = (share) => `${Number((100 * share).toPrecision(2))} %`;
const asTimes = (power) => ["1⁄64", "1⁄32", "1⁄16", "⅛", "¼", "½", "1", "2", "4", "8", "16", "32", "64"][power + 6];

// Labels in rows: their shares on a scale of tens, or how many times as frequent they are as in another set.
// series: [{ name, shares, intervals }], the first of the set itself.
function labelRows(names, kinds, series, text, after) {
  const order = inOrder(kinds, series[0].shares), [mine, ...rest] = series, head = 30;
  let other = -1;
  const choice = el("select", { onchange: () => { other = Number(choice.value); shown_.again(); } },
    el("option", { value: -1 }, "share of turns, on a scale of tens"), rest.map(({ name }, place) => el("option", { value: place }, `how many times the share in ${short(name, 40)}`)));
  const used = KINDS.filter((kind) => kinds.includes(kind));
  const keys = (width) => legend([...used.map((kind) => ({ name: kind, mark: (x, y) => svg("circle", { cx: x, cy: y, r: 5, fill: ofKind(kind) }) })),
    ...(other < 0 ? rest.map((one, place) => ({ name: short(one.name, 40), mark: (x, y) => sign(place, x, y) })) : [])], 8, head + ROW * names.length + 10, width);
  const rows = (left, right) => order.map((label, row) => {
    const y = head + (row + 0.5) * ROW;
    return [write(left - 8, y, names[label], { anchor: "end" }), line(left, y, right, y, "line", { "stroke-dasharray": "1 3" })];
  });
  const grid = (ticks, at, show, bottom) => ticks.map((tick) => [line(at(tick), head - 4, at(tick), bottom), write(at(tick), 14, show(tick), { anchor: "middle" })]);
  const shares = (left, right, bottom) => {
    const all = series.flatMap((one) => one.shares), some = all.filter((share) => share > 0), nothing = all.includes(0) ? 44 : 8;
    const low = Math.max(LOW, Math.min(0.01, 10 ** Math.floor(Math.log10(Math.min(...some))))), most = Math.max(...some);
    const high = [1, 2, 5, 10].map((factor) => factor * 10 ** Math.floor(Math.log10(most))).find((one) => one >= most);
    const at = (share) => (share <= 0 ? left + 8 : left + nothing + (Math.log(Math.max(share, low) / low) / Math.log(high / low)) * (right - left - nothing - 12));
    const ticks = range(9).flatMap((ten) => [1, 2, 5].map((factor) => factor * 10 ** (ten - 6))).filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    const room = ticks.length * 46 < right - left ? ticks : ticks.filter((tick) => /^1/.test(tick.toExponential()));
    return [grid(room, at, (tick) => (tick <= LOW && some.some((share) => share < LOW) ? `≤ ${asPercent(tick)}` : asPercent(tick)), bottom), nothing > 8 ? [line(left + 8, head - 4, left + 8, bottom), write(left + 8, 14, "0", { anchor: "middle" })] : null,
      order.map((label, row) => {
        const y = head + (row + 0.5) * ROW, ends = (mine.intervals?.[label] ?? []).map((end) => (end === null ? null : at(end))), said = (name, share) => ({ "data-say": `${names[label]} in ${name}: ${percent(share, share < 0.001 ? 3 : 2)}` });
        return [rest.map((one, place) => sign(place, at(one.shares[label]), y, said(one.name, one.shares[label]))),
          ends.length === 2 && ends[0] !== null && ends[1] !== null ? line(ends[0], y, ends[1], y, "ink") : null,
          svg("circle", { cx: at(mine.shares[label]), cy: y, r: 4.5, fill: ofKind(kinds[label]), ...said(mine.name, mine.shares[label]) })];
      })];
  };
  const times = (left, right, bottom) => {
    const theirs = rest[other].shares, power = (label) => Math.log2(mine.shares[label] / theirs[label]);
    const most = Math.min(6, Math.max(1, ...order.map((label) => Math.ceil(Math.abs(power(label)))).filter(Number.isFinite)));
    const at = (value) => left + 8 + ((Math.max(-most, Math.min(most, value)) + most) / (2 * most)) * (right - left - 20);
    return [grid(range(2 * most + 1).map((step) => step - most), at, asTimes, bottom), line(at(0), head - 4, at(0), bottom, "ink"), order.map((label, row) => {
      const y = head + (row + 0.5) * ROW, value = power(label), [x, zero] = [at(value), at(0)];
      if (!mine.shares[label] || !theirs[label]) return write(zero + 8, y, !mine.shares[label] && !theirs[label] ? "in neither" : mine.shares[label] ? "not in the other" : `only in the other, ${percent(theirs[label], 2)}`, { colour: "soft" });
      return box(Math.min(x, zero), y - 6, Math.abs(x - zero), 12, ofKind(kinds[label]), { "data-say": `${names[label]}: ${fixed(mine.shares[label] / theirs[label])} times, ${percent(mine.shares[label], 2)} and ${percent(theirs[label], 2)}` });
    })];
  };
  const shown_ = picture(`Labels of ${mine.name}${rest.length ? ", beside what they are compared with" : ""}${mine.intervals ? "; lines through the dots: 95 % intervals" : ""}.`, text, (width) => {
    const left = widest(names) + 16, right = width - 6, bottom = head + names.length * ROW;
    return [rows(left, right), (other < 0 ? shares : times)(left, right, bottom), keys(width).nodes];
  }, { below: after, above: rest.length ? el("form", { onsubmit: (event) => event.preventDefault() }, el("label", {}, "show", choice)) : null, height: (width) => head + ROW * names.length + 14 + keys(width).height });
  return shown_.made;
}

// How often a label (across) follows another (down), against chance, in doublings; a click on a cell is told to `chosen`.
const DOUBLINGS = [-3, -2, -1, 0, 1, 2, 3];
const shade = (value) => ({ fill: paint(value < 0 ? "low" : "high"), "fill-opacity": Math.abs(value) / 3 });
function matrix(caption, text, names, strength, say, chosen, after) {
  const long = widest(names, 10), top = long * 0.87 + 12, left = long + 10, aside = left + long * 0.5 + 6;
  const cell = (width) => Math.max(15, Math.min(22, (width - aside) / names.length));
  const shown_ = picture(caption, text, (width) => {
    const size = cell(width), whole = size * names.length;
    return [
      names.map((name, place) => [write(left - 5, top + (place + 0.5) * size, name, { anchor: "end", size: 10 }),
        write(left + (place + 0.5) * size, top - 5, name, { size: 10, transform: `rotate(-60 ${left + (place + 0.5) * size} ${top - 5})` })]),
      box(left, top, whole, whole, paint("ground")),
      names.map((_, from) => names.map((_, to) => box(left + to * size, top + from * size, size - 1, size - 1, "", { ...shade(strength(from, to) ?? 0), "data-say": say(from, to), "data-pair": `${from} ${to}`, class: "cell" }))),
      DOUBLINGS.map((value, place) => [box(left + place * 46, top + whole + 12, 46, 12, "", shade(value)), write(left + (place + 0.5) * 46, top + whole + 34, asTimes(value), { anchor: "middle" })]),
      write(left - 8, top + whole + 18, "times chance", { anchor: "end", size: 10 }),
    ];
  }, { least: aside + 15 * names.length, height: (width) => top + cell(width) * names.length + 48, below: after });
  shown_.place.addEventListener("click", ({ target }) => { if (target.dataset.pair) chosen(...target.dataset.pair.split(" ").map(Number)); });
  return shown_.made;
}

// The share of labels that are right by their confidence, both 0 to 1.
function reliabilityPicture(caption, text, points, after) {
  return picture(caption, text, (width, height) => {
    const axis = upright(width, height, [0, 0.2, 0.4, 0.6, 0.8, 1], "share that is right", String, 36), x = (value) => axis.left + value * (axis.right - axis.left);
    const path = points.map(([sure, right]) => `${x(sure)} ${axis.at(right)}`).join("L");
    return [axis.nodes, line(x(0), axis.at(0), x(1), axis.at(1), "soft", { "stroke-dasharray": "4 4" }), svg("path", { d: `M${path}`, fill: "none", stroke: paint("emotion"), "stroke-width": 2 }),
      points.map(([sure, right]) => svg("circle", { cx: x(sure), cy: axis.at(right), r: 4, fill: paint("emotion"), "data-say": `confidence ${fixed(sure)}: ${percent(right)} right` })),
      [0, 0.2, 0.4, 0.6, 0.8, 1].map((tick) => write(x(tick), axis.bottom + 13, String(tick), { anchor: "middle" })), write((axis.left + axis.right) / 2, axis.bottom + 34, "confidence", { anchor: "middle" }),
      legend([{ name: "labels", mark: swatch(paint("emotion")) }, { name: "as sure as right", mark: (at, y) => line(at - 6, y, at + 6, y, "soft", { "stroke-dasharray": "4 4" }) }], axis.left, 6, axis.right).nodes];
  }, { below: after, height: 340 }).made;
}

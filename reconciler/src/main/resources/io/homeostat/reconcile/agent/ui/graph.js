// Who depends on whom: what is needed stands to the left of who needs it.

import {badge, h, id, linkTo, show, svg, tone} from './dom.js';

const WIDTH = 190;
const HEIGHT = 44;
const GAP_X = 70;
const GAP_Y = 18;

/** The column of each: one more than that of the furthest of its needs; a circle is cut where it closes. */
function columns(needs) {
  const of = new Map();
  const visit = (name, path) => {
    if (of.has(name)) {
      return of.get(name);
    }
    if (path.has(name)) {
      return -1;
    }
    path.add(name);
    const column = 1 + Math.max(-1, ...(needs.get(name) ?? []).map((one) => visit(one, path)));
    path.delete(name);
    of.set(name, column);
    return column;
  };
  needs.forEach((_, name) => visit(name, new Set()));
  return of;
}

/** Where each node stands. */
export function layout(needs) {
  const column = columns(needs);
  const filled = [];
  const places = new Map();
  const order = [...column.keys()].sort((one, other) => column.get(one) - column.get(other) || one.localeCompare(other));
  // Beside what it needs, as far as there is room: lines cross less often.
  const height = (name) => {
    const rows = (needs.get(name) ?? []).filter((one) => places.has(one)).map((one) => places.get(one).row);
    return rows.length ? rows.reduce((sum, row) => sum + row, 0) / rows.length : Infinity;
  };
  for (let x = 0; x <= Math.max(-1, ...column.values()); x++) {
    filled[x] = 0;
    order
      .filter((name) => column.get(name) === x)
      .sort((one, other) => height(one) - height(other) || one.localeCompare(other))
      .forEach((name) => {
        const row = filled[x]++;
        places.set(name, {row, x: x * (WIDTH + GAP_X) + 4, y: row * (HEIGHT + GAP_Y) + 4});
      });
  }
  return {
    places,
    width: Math.max(0, filled.length * (WIDTH + GAP_X) - GAP_X) + 8,
    height: Math.max(0, ...filled) * (HEIGHT + GAP_Y) - GAP_Y + 8,
  };
}

function short(name) {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}

export function graph(main, model) {
  const needs = new Map(model.status.workloads.map((status) => [id(status), []]));
  for (const one of model.declared) {
    const of = one.document?.spec?.dependsOn ?? [];
    needs.set(one.workload, of);
    of.filter((name) => !needs.has(name)).forEach((name) => needs.set(name, []));
  }
  const states = new Map(model.status.workloads.map((status) => [id(status), status]));
  const tones = [...states].map(([name, status]) => [name, tone(status), status.state]);
  show(main, ['graph', [...needs], tones, model.missing], () => {
    const {places, width, height} = layout(needs);
    const edges = [...needs].flatMap(([name, of]) => of.map((need) => [need, name]));
    const drawing = svg(
      'svg',
      {viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': 'Dependencies'},
      svg('g', {'aria-hidden': 'true'}, edges.map(([from, to]) => {
        const a = places.get(from);
        const b = places.get(to);
        const x1 = a.x + WIDTH;
        const y1 = a.y + HEIGHT / 2;
        const y2 = b.y + HEIGHT / 2;
        const bend = GAP_X / 2;
        return [
          svg('path', {class: 'edge', d: `M${x1},${y1} C${x1 + bend},${y1} ${b.x - bend},${y2} ${b.x - 6},${y2}`}),
          svg('path', {class: 'tip', d: `M${b.x},${y2} l-8,-4.5 v9 z`}),
        ];
      })),
      [...places].map(([name, place]) => {
        const status = states.get(name);
        const of = needs.get(name);
        const words = `${name}, ${status ? status.state : 'not declared'}${of.length ? `, needs ${of.join(', ')}` : ''}`;
        const kind = status ? tone(status) : 'bad';
        return svg(
          'a',
          {href: linkTo(name), 'data-row': name, 'data-key': name, 'aria-label': words, class: `node ${kind}`},
          svg('title', {}, words),
          svg('rect', {x: place.x, y: place.y, width: WIDTH, height: HEIGHT, rx: 8}),
          svg('text', {x: place.x + 12, y: place.y + 18, class: 'name'}, short(name)),
          svg('text', {x: place.x + 12, y: place.y + 35, class: 'state'}, status ? status.state.replaceAll('_', ' ') : 'not declared'),
        );
      }),
    );
    return [
      h('h2', {}, 'Dependencies'),
      h('p', {class: 'quiet'}, model.missing || (edges.length ? 'What is needed stands to the left of who needs it.' : 'Nothing depends on anything: no workload has dependsOn.')),
      h('div', {class: 'graph', tabindex: '0', role: 'region', 'aria-label': 'Graph of dependencies'}, drawing),
    ];
  });
}

/** Needs and dependants of one workload, as links with their states. */
export function neighbours(name, model) {
  const states = new Map(model.status.workloads.map((status) => [id(status), status]));
  const link = (one) => h('li', {}, h('a', {href: linkTo(one), 'data-key': one}, one), ' ', states.has(one) && badge(states.get(one)));
  const needs = model.declared.find((one) => one.workload === name)?.document?.spec?.dependsOn ?? [];
  const dependants = model.declared.filter((one) => one.document?.spec?.dependsOn?.includes(name)).map((one) => one.workload);
  return [
    needs.length > 0 && [h('h4', {}, 'Needs'), h('ul', {class: 'plain'}, needs.map(link))],
    dependants.length > 0 && [h('h4', {}, 'Needed by'), h('ul', {class: 'plain'}, dependants.map(link))],
    needs.length + dependants.length === 0 && h('p', {class: 'quiet'}, model.missing || 'Needs nothing, and nothing needs it.'),
  ];
}

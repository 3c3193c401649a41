// The last samples as a line. They are kept in this page only, so the line begins when it was opened.

import {svg} from './dom.js';

const WIDTH = 96;
const HEIGHT = 24;
const MOST = 100;

/** The samples of all workloads, by id. */
export class Samples {
  #of = new Map();

  add(id, usage) {
    const known = this.#of.get(id) ?? {cpu: [], memory: []};
    this.#of.set(id, {
      cpu: [...known.cpu, Number(usage.cpuPercent)].slice(-MOST),
      memory: [...known.memory, usage.memoryBytes].slice(-MOST),
    });
  }

  of(id) {
    return this.#of.get(id) ?? {cpu: [], memory: []};
  }
}

/**
 * A line from the left, its highest point at the top.
 *
 * @param what that is shown, for who does not see it
 * @param words of one value
 */
export function sparkline(values, what, words) {
  if (values.length === 0) {
    return null;
  }
  const top = Math.max(...values) || 1;
  const step = WIDTH / Math.max(values.length - 1, 1);
  const points = values.map((value, i) => `${(i * step).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 3)).toFixed(1)}`);
  if (points.length === 1) {
    points.push(`${WIDTH},${points[0].split(',')[1]}`);
  }
  const label = `${what}: now ${words(values.at(-1))}, at most ${words(Math.max(...values))}`;
  return svg(
    'svg',
    {class: 'sparkline', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none'},
    svg('title', {}, label),
    svg('polygon', {points: `0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`}),
    svg('polyline', {points: points.join(' ')}),
  );
}

// The list of workloads.

import {ago, badge, bytes, h, id, linkTo, show, tone} from './dom.js';
import {sparkline} from './sparkline.js';

const ORDER = {bad: 0, busy: 1, quiet: 2, good: 3};
const rows = new Map();

/** What is not as it should be, in words. */
export function complaints(status) {
  return status.conditions.filter(
    (one) =>
      (one.status === 'False' && ['Converged', 'Healthy', 'Installed'].includes(one.type)) ||
      (one.status === 'True' && !['Converged', 'Healthy', 'Installed', 'Completed'].includes(one.type)),
  );
}

function cell(name, label, ...content) {
  return h('span', {class: name}, h('span', {class: 'label'}, label), ...content);
}

function row(status, samples) {
  const name = id(status);
  const known = rows.get(name) ?? h('li', {}, h('a', {href: linkTo(name), 'data-row': name, class: 'row'}));
  rows.set(name, known);
  const {cpu, memory} = samples.of(name);
  const since = status.startedAt && ago(status.startedAt);
  show(known.firstChild, [status, cpu, memory, since], () => {
    const worst = complaints(status);
    return [
      h('span', {class: 'name'}, name),
      h('span', {class: 'state'}, badge(status)),
      cell('revision', 'revision ', status.currentRevision ?? status.desiredRevision ?? '–'),
      cell('up', 'up ', since ?? '–'),
      cell('restarts', 'restarts ', String(status.restarts)),
      cell('cpu', 'processor ', sparkline(cpu, 'Processor', (value) => `${value} %`), h('span', {class: 'value'}, cpu.length ? `${cpu.at(-1)} %` : '–')),
      cell('memory', 'memory ', sparkline(memory, 'Memory', bytes), h('span', {class: 'value'}, memory.length ? bytes(memory.at(-1)) : '–')),
      worst.length > 0 && h('span', {class: 'why'}, worst.map((one) => `${one.type} ${one.status}: ${one.message || one.reason}`).join(' · ')),
    ];
  });
  return known;
}

/** What of it is searched for. */
export function matches(text, words) {
  return words.every((word) => text.toLowerCase().includes(word));
}

export function workloads(main, model) {
  const found = model.status.workloads
    .filter((status) => matches(`${id(status)} ${status.state} ${status.currentRevision ?? ''}`, model.words))
    .sort((one, other) => ORDER[tone(one)] - ORDER[tone(other)] || id(one).localeCompare(id(other)));
  if (!main.querySelector('.workloads')) {
    main.replaceChildren(
      h('h2', {}, 'Workloads'),
      h('p', {class: 'quiet', id: 'count'}),
      h('div', {class: 'head', 'aria-hidden': 'true'}, ['Name', 'State', 'Revision', 'Up', 'Restarts', 'Processor', 'Memory'].map((word) => h('span', {}, word))),
      h('ul', {class: 'workloads'}),
    );
  }
  const list = main.querySelector('.workloads');
  const there = new Set(model.status.workloads.map(id));
  [...rows.keys()].filter((name) => !there.has(name)).forEach((name) => rows.delete(name));
  const wanted = found.map((status) => row(status, model.samples));
  if (wanted.length !== list.children.length || wanted.some((one, i) => one !== list.children[i])) {
    // Whoever has the focus keeps it, wherever its row goes.
    const active = list.contains(document.activeElement) ? document.activeElement : null;
    list.replaceChildren(...wanted);
    active?.focus({preventScroll: true});
  }
  const ill = model.status.workloads.filter((status) => tone(status) === 'bad').length;
  const all = model.status.workloads.length;
  show(main.querySelector('#count'), [all, found.length, ill], () =>
    all === 0
      ? 'Nothing is declared. homeostat apply -f FILE declares something.'
      : `${found.length === all ? all : `${found.length} of ${all}`} declared or on this machine, ${ill === 0 ? 'none' : ill} in trouble`);
}

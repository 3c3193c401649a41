// What is to be done and why, with what differs value by value.

import {h, linkTo, show} from './dom.js';
import {matches} from './workloads.js';

function line(sign, path, value) {
  return h(sign === '-' ? 'del' : 'ins', {}, h('span', {class: 'sign', 'aria-hidden': 'true'}, sign), `${path}: ${value}`);
}

function difference(change) {
  const before = {...change.before?.attributes};
  const after = {...change.after?.attributes};
  const revisions = [change.before?.revision ?? null, change.after?.revision ?? null];
  if (revisions[0] !== revisions[1]) {
    if (revisions[0] !== null) before.revision ??= revisions[0];
    if (revisions[1] !== null) after.revision ??= revisions[1];
  }
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths.length === 0 ? null : h('div', {class: 'diff', role: 'group', 'aria-label': 'What differs'}, paths.map((path) => [
    path in before && line('-', path, before[path]),
    path in after && line('+', path, after[path]),
  ]));
}

/** One workload's part of the plan. */
export function change(one, heading) {
  return h(
    'article',
    {class: `change ${one.action}`},
    h(heading, {}, h('span', {class: 'action'}, one.action), ' ', h('a', {href: linkTo(one.workload), 'data-row': one.workload, 'data-key': one.workload}, one.workload)),
    h('p', {}, one.message, ' ', h('code', {class: 'quiet'}, (one.reasons ?? [one.reason]).join(', '))),
    difference(one),
    one.steps.join() !== one.action && h('ol', {class: 'steps', 'aria-label': 'Steps'}, one.steps.map((step) => h('li', {}, step))),
  );
}

export function plan(main, model) {
  const parts = [['Changes', model.plan.changes], ['Drift', model.plan.drift]].map(([title, all]) => [title, all.filter((one) => matches(`${one.workload} ${one.message}`, model.words))]);
  const disabled = model.plan.disabled ?? [];
  show(main, ['plan', parts, disabled, model.plan.summary], () => {
    const {summary} = model.plan;
    return [
      h('h2', {}, 'Plan'),
      h('p', {class: 'quiet'}, `${summary.install} to install, ${summary.update} to update, ${summary.repair} to repair, ${summary.remove} to remove, ${summary.waiting ? `${summary.waiting} waiting, ` : ''}${summary.unchanged} unchanged.`),
      parts.filter(([, all]) => all.length).map(([title, all]) => [h('h3', {}, title), all.map((one) => change(one, 'h4'))]),
      parts.every(([, all]) => all.length === 0) && h('p', {class: 'empty'}, 'Nothing is to be done: all is as declared.'),
      disabled.length > 0 && [h('h3', {}, 'Disabled'), h('ul', {class: 'plain'}, disabled.map((one) => h('li', {}, h('a', {href: linkTo(one.workload), 'data-row': one.workload, 'data-key': one.workload}, one.workload), `: ${one.message}`)))],
    ];
  });
}

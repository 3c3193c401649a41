// What can be done to a workload, after a question. The agent refuses it where the page may only show.

import {look, operate, text} from './api.js';
import {h, say} from './dom.js';

const WORDS = {
  pause: ['Pause', 'It is left alone, whatever becomes of it, until it is resumed.'],
  resume: ['Resume', 'It is enforced again, and what had failed is tried at once.'],
  restart: ['Restart', 'It is stopped and started again.'],
  rollback: ['Roll back', 'It goes back to a revision that worked.'],
};

/** Buttons for what makes sense in its state. */
export function buttons(workload, paused, done) {
  return Object.keys(WORDS)
    .filter((operation) => operation !== (paused ? 'pause' : 'resume'))
    .map((operation) => h('button', {type: 'button', 'data-key': operation, onclick: () => confirm(operation, workload, done)}, WORDS[operation][0]));
}

async function revisions(workload) {
  const {results} = await look(`/api/history?workload=${encodeURIComponent(workload)}`);
  return (results[0]?.revisions ?? []).toReversed();
}

async function confirm(operation, workload, done) {
  const [title, consequence] = WORDS[operation];
  const dialog = document.getElementById('confirm');
  const reason = operation === 'pause' && h('input', {id: 'reason', required: true, autocomplete: 'off', maxlength: '200'});
  let to = null;
  if (operation === 'rollback') {
    try {
      const known = await revisions(workload);
      to = h('select', {id: 'to'}, h('option', {value: ''}, 'the one that worked before'), known.map((one) =>
        h('option', {value: `number:${one.number}`}, `${one.number}: ${one.revision} (${one.status.toLowerCase().replaceAll('_', ' ')})`)));
    } catch (problem) {
      say(problem.message);
    }
  }
  const outcome = h('p', {role: 'status'});
  const submit = h('button', {class: 'primary'}, title);
  const cancel = h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel');
  const form = h(
    'form',
    {
      onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        outcome.textContent = 'Under way …';
        try {
          const result = await operate(operation, workload, {reason: reason ? reason.value : '', to: to?.value ?? ''});
          done();
          if (result.exitStatus === 0) {
            dialog.close();
            say(`${title}: ${workload} done`);
            return;
          }
          outcome.textContent = result.messages.map(text).join('\n') || `It ended with status ${result.exitStatus}.`;
        } catch (problem) {
          outcome.textContent = problem.message;
        }
        cancel.textContent = 'Close';
      },
    },
    h('h2', {id: 'confirm-title'}, `${title} ${workload}?`),
    h('p', {}, consequence),
    reason && h('label', {for: 'reason'}, 'Why, for whoever finds it paused', reason),
    to && h('label', {for: 'to'}, 'Revision', to),
    outcome,
    h('div', {class: 'buttons'}, cancel, submit),
  );
  dialog.replaceChildren(form);
  dialog.showModal();
}

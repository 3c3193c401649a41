// The keyboard: whatever can be pointed at can be reached without.

const VIEWS = {1: '#/workloads', 2: '#/graph', 3: '#/plan', 4: '#/events', 5: '#/fleet'};

function move(step) {
  const rows = [...document.querySelectorAll('#main [data-row]')];
  const at = rows.indexOf(document.activeElement);
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)];
  next?.focus();
  next?.scrollIntoView({block: 'nearest'});
}

export function listen() {
  const search = document.getElementById('search');
  const help = document.getElementById('help');
  document.getElementById('keys').addEventListener('click', () => help.showModal());
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) {
      return;
    }
    const typing = event.target.matches?.('input, select, textarea');
    if (event.key === 'Escape') {
      if (typing && search.value) {
        search.value = '';
        search.dispatchEvent(new Event('input'));
      } else if (typing) {
        event.target.blur();
      } else if (location.hash.startsWith('#/workload/')) {
        location.hash = '#/workloads';
      }
      return;
    }
    if (typing && !(event.target === search && event.key === 'ArrowDown')) {
      return;
    }
    // What scrolls by arrows goes on scrolling.
    const scrolls = event.target.closest?.('.lines, .graph') && !event.target.matches('[data-row]');
    const actions = {
      j: () => move(1),
      k: () => move(-1),
      ...(scrolls ? {} : {ArrowDown: () => move(1), ArrowUp: () => move(-1)}),
      '/': () => search.focus(),
      '?': () => help.showModal(),
    };
    // Of the fleet there is a view only where the agent shows one.
    const view = document.querySelector(`nav li:not([hidden]) a[href="${VIEWS[event.key]}"]`);
    const action = actions[event.key] ?? (view && (() => (location.hash = view.hash)));
    if (action) {
      event.preventDefault();
      action();
    }
  });
}

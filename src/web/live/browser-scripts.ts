/**
 * The script that all pages load. It writes all times in the zone of the browser, and names the zone: times of their own, the hours of
 * a chart (`data-hour`), and times within sentences. When the server reports a change, it loads
 * the page again and renews the parts that are marked `data-live` (each has an id) and differ. A part that was made from
 * kept counts, or that changes without a report, has the attribute `data-renewable-in`: after this many milliseconds it is
 * loaded once more. A page that has lost the server says so, and since when. All pages also work without the script.
 *
 * A form in which a person has typed something stays as it is. If the login is over meanwhile, the page stays, and says it.
 *
 * Within a live part, an element with the same id or `data-key`, a form with the same action, or a checkbox with the same value, counts as the same
 * element as before, so that it stays selected, open or focused.
 */
export const BROWSER_SCRIPT = `'use strict';
(() => {
  const two = (number) => String(number).padStart(2, '0');

  function writeTimes(within) {
    for (const element of within.querySelectorAll('time[datetime]')) {
      const at = new Date(element.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      element.textContent = 'hour' in element.dataset ? hourOf(at) : minuteOf(at);
    }
    for (const element of within.querySelectorAll('text[data-hour]')) {
      element.textContent = hourOf(new Date(element.dataset.hour));
    }
    for (const element of within.querySelectorAll('[data-zone]')) {
      element.textContent = 'Times are in ' + Intl.DateTimeFormat().resolvedOptions().timeZone + '.';
    }
    const texts = document.createTreeWalker(within.body || within, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      if (data.search(IN_TEXT) < 0 || parentElement === null || parentElement.closest(NO_SENTENCE) || !parentElement.closest(SENTENCES)) continue;
      texts.currentNode.data = data.replace(IN_TEXT, (found, word, day, time) => {
        const at = new Date(day + 'T' + time.slice(0, 5) + ':00Z');
        return Number.isNaN(at.getTime()) ? found : word + ' ' + minuteOf(at);
      });
    }
  }

  // A time of the server within a sentence, after one of these words. Keys, names, values and what people wrote stay as they are.
  const SENTENCES = 'p:not(.lead):not(.note), td.text, .answers span';
  const NO_SENTENCE = 'time, code, pre, textarea, script, a, h1, h2, .mono, .note, .cause, td:not(.text), th';
  const IN_TEXT = /\\b(until|since|at|after|before|on) (\\d{4}-\\d\\d-\\d\\d)[T ](\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?)(?:Z| UTC)/g;
  const hourOf = (at) => two(at.getHours()) + ':' + two(at.getMinutes());
  const minuteOf = (at) => at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' + hourOf(at);

  function keyOf(node) {
    if (node.nodeType !== 1) return '';
    if (node.id !== '') return 'id ' + node.id;
    if (node.dataset && node.dataset.key !== undefined) return 'key ' + node.dataset.key;
    if (node.nodeName === 'FORM') return 'form ' + node.getAttribute('action');
    const box = node.matches('tr, li') ? node.querySelector('input[type="checkbox"]') : node.matches('input[type="checkbox"]') ? node : null;
    return box === null ? '' : 'box ' + box.name + ' ' + box.value;
  }

  const isSame = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

  function renewAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      // A section that a person has opened stays open.
      if (!fresh.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value && !(name === 'open' && old.nodeName === 'DETAILS')) old.setAttribute(name, value);
    }
  }

  const isTyped = (field) => field.value !== field.defaultValue;
  /** True for a form in which a person has typed something, or that has what the person had typed before a login. */
  const isEdited = (form) => form.hasAttribute('data-edited') || [...form.querySelectorAll(TEXTS)].some(isTyped);
  const TEXTS = 'textarea, input:not([type]), input[type="text"], input[type="search"]';
  const hasEdits = (node) => node.nodeType === 1 && [...(node.matches('form') ? [node] : node.querySelectorAll('form'))].some(isEdited);

  function renew(old, fresh) {
    if (old.nodeType !== 1) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.isEqualNode(fresh) || (old.nodeName === 'FORM' && isEdited(old))) return;
    renewAttributes(old, fresh);
    let at = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      let match = at !== null && isSame(at, wanted) ? at : null;
      if (match === null && keyOf(wanted) !== '') {
        match = [...old.childNodes].find((child) => isSame(child, wanted)) || null;
      }
      if (match === null) {
        old.insertBefore(document.importNode(wanted, true), at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      renew(match, wanted);
    }
    while (at !== null) {
      const next = at.nextSibling;
      if (!hasEdits(at)) at.remove();
      at = next;
    }
  }

  /** True while a person has selected text in the part, to copy it. */
  function isMarked(part) {
    const selection = document.getSelection();
    return selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
  }

  const parts = () => document.querySelectorAll('[data-live][id]');
  const LEAST_MS = 2000;
  let isLoading = false;
  let isDirty = false;
  let renewal = null;

  /** Loads a part again later if its counts may be older than the change that was reported. */
  function renewWhenPossible() {
    clearTimeout(renewal);
    const waits = [...parts()].map((part) => Number(part.dataset.renewableIn || 0));
    const wait = Math.max(0, ...waits);
    if (wait > 0) renewal = setTimeout(load, wait);
  }

  async function load() {
    if (isLoading || document.hidden) {
      isDirty = true;
      return;
    }
    isLoading = true;
    isDirty = false;
    const begin = performance.now();
    try {
      // The page to log in may be under another address, so the redirect is not followed.
      const answer = await fetch(location.href, { headers: { accept: 'text/html', 'x-live': '1' }, cache: 'no-store', redirect: 'manual' });
      const isLoggedOut = answer.type === 'opaqueredirect';
      // The session has ended: the page to log in is shown, unless that would lose what a person has typed.
      if (isLoggedOut && !hasEdits(document.body)) location.reload();
      else if (answer.ok) renewParts(await answer.text());
      sayTrouble(isLoggedOut ? LOGGED_OUT : answer.ok ? null : troubleOf(answer.status));
    } catch {
      // The server cannot be reached now. The next change or the next poll tries again.
      isDirty = true;
      sayTrouble(LOST);
    }
    setTimeout(
      () => {
        isLoading = false;
        if (isDirty) load();
      },
      Math.max(LEAST_MS, 20 * (performance.now() - begin)),
    );
  }

  function renewParts(text) {
    const page = new DOMParser().parseFromString(text, 'text/html');
    writeTimes(page);
    const focused = document.activeElement;
    for (const part of parts()) {
      const fresh = page.getElementById(part.id);
      if (fresh === null) continue;
      if (isMarked(part)) isDirty = true;
      else renew(part, fresh);
    }
    const [asOf, freshAsOf] = [document.getElementById('as-of'), page.getElementById('as-of')];
    if (asOf !== null && freshAsOf !== null) renew(asOf, freshAsOf);
    if (focused !== document.activeElement && focused !== null && focused.isConnected) focused.focus({ preventScroll: true });
    renewWhenPossible();
  }

  const LOST = 'dpp-sync does not answer';
  const LOGGED_OUT = 'Your login is over. What you have typed is kept: send the form, and log in then';
  /** A proxy answers with 502 or 504 if it does not reach dpp-sync. */
  function troubleOf(status) {
    if (status === 502 || status === 504) return LOST;
    return status === 404 || status === 410 ? 'What this page shows is not there any more' : 'The page could not be renewed';
  }

  let trouble = null;
  /** Says since when the figures of the page are old, and why. */
  function sayTrouble(now) {
    const note = document.getElementById('lost');
    if (note === null || now === trouble) return;
    trouble = now;
    note.hidden = now === null;
    note.textContent = now === null ? '' : now + ', since ' + minuteOf(new Date()) + '. The figures are from before that.';
    document.body.classList.toggle('lost', now !== null);
  }

  let stream = null;
  let polling = null;

  function connect() {
    if (document.hidden || stream !== null || parts().length === 0) return;
    stream = new EventSource('/live');
    stream.addEventListener('change', load);
    stream.addEventListener('open', () => {
      clearInterval(polling);
      polling = null;
      if (isDirty || trouble !== null) load();
    });
    stream.addEventListener('error', () => {
      // Browsers connect again automatically, except after the server has refused the stream. Then the page polls at
      // intervals. A stream also ends for reasons that are no loss, so the page is asked for.
      load();
      if (stream.readyState !== EventSource.CLOSED || polling !== null) return;
      polling = setInterval(load, 15000);
    });
  }

  // Browsers have six connections for a server, so a hidden page closes its stream.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      if (stream !== null) stream.close();
      stream = null;
      clearInterval(polling);
      polling = null;
      isDirty = true;
    } else {
      connect();
    }
  });
  addEventListener('pagehide', () => {
    if (stream !== null) stream.close();
    stream = null;
  });
  addEventListener('pageshow', connect);

  /**
   * Scrolls the navigation so that the present page is visible. On a narrow screen the navigation is one line that is
   * longer than the screen.
   */
  function showPresentPage() {
    const nav = document.querySelector('header nav');
    const link = nav === null ? null : nav.querySelector('[aria-current]');
    if (link === null) return;
    const beyond = link.getBoundingClientRect().right - nav.getBoundingClientRect().right;
    if (beyond > 0) nav.scrollLeft += beyond;
  }

  const boxesOf = (table) => [...table.querySelectorAll('tbody input[type="checkbox"]')];

  // The arrow keys choose one option after the other, so a choice by the keyboard waits for the button of the filter.
  let isByKey = false;
  document.addEventListener('pointerdown', () => (isByKey = false), true);
  document.addEventListener('keydown', () => (isByKey = true), true);

  // A choice of a filter by the pointer is applied at once. The box in the head of a column selects all rows of the page.
  document.addEventListener('change', ({ target }) => {
    if (target.matches('form.filter select') && !isByKey) target.form.requestSubmit();
    const table = target.matches('input[type="checkbox"]') ? target.closest('table') : null;
    const all = table === null ? null : table.querySelector('thead input.all');
    if (all === null) return;
    if (target === all) for (const box of boxesOf(table)) box.checked = all.checked;
    const checked = boxesOf(table).filter((box) => box.checked).length;
    all.checked = checked > 0 && checked === boxesOf(table).length;
    all.indeterminate = checked > 0 && !all.checked;
  });

  document.documentElement.classList.add('scripted');
  writeTimes(document);
  showPresentPage();
  renewWhenPossible();
  connect();
})();
`;

/**
 * The script that the pages of the board load besides the board's own. It gives names to buttons that have only an icon, so that people
 * who do not see the icon know what the button does.
 */
export const BOARD_SCRIPT = `'use strict';
(() => {
  const NAMES = {
    'circle-user': 'Other pages of dpp-sync',
    'ellipsis-vertical': 'More actions',
    'refresh-cw': 'Retry this job',
    'arrow-down-narrow-wide': 'Sort',
    'arrow-up-wide-narrow': 'Sort',
    copy: 'Copy',
    maximize: 'Fill the screen',
    minimize: 'Leave the full screen',
    settings: 'Settings of the board',
    x: 'Close',
  };

  /** The name of an icon from the classes of its picture, such as "lucide lucide-refresh-cw". */
  function iconOf(picture) {
    const names = [...picture.classList].filter((name) => name.startsWith('lucide-')).map((name) => name.slice(7));
    return names.find((name) => name in NAMES) || names[0] || '';
  }

  function nameAll() {
    for (const picture of document.querySelectorAll('button svg.lucide')) {
      const button = picture.closest('button');
      if (button.textContent.trim() !== '' || button.hasAttribute('aria-label') || button.title !== '') continue;
      const icon = iconOf(picture);
      button.setAttribute('aria-label', NAMES[icon] || icon.replaceAll('-', ' '));
    }
    // The name of the product is beside its picture.
    for (const picture of document.querySelectorAll('a[class^="logo"] img[alt]:not([alt=""])')) picture.alt = '';
    for (const heading of document.querySelectorAll('h5:not([aria-level])')) heading.setAttribute('aria-level', '2');
  }

  new MutationObserver(nameAll).observe(document.documentElement, { childList: true, subtree: true });
  nameAll();
})();
`;

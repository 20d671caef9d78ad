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

/** The script that all pages load. Without it all pages work as well. */
export const BROWSER_SCRIPT = `'use strict';
(() => {
  const two = (number) => String(number).padStart(2, '0');
  // Times are written in UTC by the server, and here in the zone of the browser.
  const localTimes = (within) => {
    for (const element of within.querySelectorAll('time[datetime]')) {
      const at = new Date(element.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      element.textContent = at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' + two(at.getHours()) + ':' + two(at.getMinutes());
    }
  };
  localTimes(document);
})();
`;

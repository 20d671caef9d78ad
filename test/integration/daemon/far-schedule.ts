/** A schedule, in UTC, of one time a day that is half a day away, so that no test is at work when it comes. */
export const dailyFarFromNow = (): string => `0 ${(new Date().getUTCHours() + 12) % 24} * * *`;

/** A schedule, in UTC, of one time a year that is about half a year away. */
export const yearlyFarFromNow = (): string => `0 0 1 ${((new Date().getUTCMonth() + 6) % 12) + 1} *`;

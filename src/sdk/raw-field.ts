/** The field under which a connector keeps the text of a row that could not be told apart into fields. */
export const RAW_FIELD = '_raw';

-- Functions and operators that give SQLite's words the same meaning in PostgreSQL. A schema of PostgreSQL is made from this file and
-- from `schema.sql`, and `postgres.ts` turns a statement into PostgreSQL's words.

-- The members of stored JSON. JSON stays text, as it was written: jsonb would change the order of members and the form of numbers.
CREATE FUNCTION json_valid(j text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS
  $$ BEGIN PERFORM j::json; RETURN true; EXCEPTION WHEN others THEN RETURN false; END $$;
-- NUL and half surrogate pairs are escapes in stored JSON, and PostgreSQL refuses to read a text that has them. They are read as U+FFFD.
CREATE FUNCTION stored_json(j text) RETURNS json LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT CASE WHEN strpos(j, '\u0000') = 0 AND strpos(j, '\ud') = 0 THEN j::json
    ELSE regexp_replace(j, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'g')::json END $$;
-- A text, as `->>` gives it; true and false are 1 and 0, as in SQLite.
CREATE FUNCTION json_text(v json) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT CASE json_typeof(v) WHEN 'boolean' THEN CASE v::text WHEN 'true' THEN '1' ELSE '0' END ELSE v #>> '{}' END $$;
CREATE FUNCTION json_member(j text, path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT json_text(CASE WHEN path = '$' THEN stored_json(j)
    WHEN path LIKE '$%' THEN stored_json(j) #> string_to_array(ltrim(translate(substr(path, 2), '[]', '.'), '.'), '.')
    ELSE stored_json(j) -> path END) $$;
CREATE FUNCTION json_member(j text, at bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  'SELECT json_text(stored_json(j) -> at::integer)';
CREATE FUNCTION json_extract(j text, path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  'SELECT json_member(j, path)';
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = text, FUNCTION = json_member);
CREATE OPERATOR ->> (LEFTARG = text, RIGHTARG = bigint, FUNCTION = json_member);
-- Sets a member of the outermost object.
CREATE FUNCTION json_set(j text, path text, v anyelement) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  $$ SELECT '{' || string_agg(to_json(m.key)::text || ':' ||
        CASE WHEN m.key = substr(path, 3) THEN to_json(v)::text ELSE m.value::text END, ',' ORDER BY m.n) ||
      CASE WHEN stored_json(j) -> substr(path, 3) IS NULL THEN ',' || to_json(substr(path, 3))::text || ':' || to_json(v)::text ELSE '' END
      || '}' FROM pg_catalog.json_each(stored_json(j)) WITH ORDINALITY AS m(key, value, n) $$;

-- An object of four members, and a list of texts.
CREATE FUNCTION json_object(text, text, text, text, text, bigint, text, bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
  'SELECT json_build_object($1, $2, $3, $4, $5, $6, $7, $8)::text';
CREATE FUNCTION add_element(list text, v text) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT coalesce(list || ',', '') || coalesce(to_json(v)::text, 'null') $$;
CREATE FUNCTION closed_list(list text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '[' || coalesce(list, '') || ']' $$;
CREATE AGGREGATE json_group_array (text) (SFUNC = add_element, STYPE = text, FINALFUNC = closed_list);

-- Lists that are given as one JSON text: of texts, of ids, and of the members of an object.
CREATE FUNCTION each_text(j text) RETURNS TABLE (value text, key bigint) LANGUAGE sql IMMUTABLE STRICT ROWS 64 AS
  'SELECT v, n - 1 FROM json_array_elements_text(stored_json(j)) WITH ORDINALITY AS e(v, n)';
CREATE FUNCTION each_text(j text, path text) RETURNS TABLE (value text, key bigint) LANGUAGE sql IMMUTABLE STRICT ROWS 64 AS
  'SELECT v, n - 1 FROM json_array_elements_text(stored_json(j) -> substr(path, 3)) WITH ORDINALITY AS e(v, n)';
CREATE FUNCTION each_id(j text) RETURNS TABLE (value bigint, key bigint) LANGUAGE sql IMMUTABLE STRICT ROWS 64 AS
  'SELECT v::bigint, n - 1 FROM json_array_elements_text(stored_json(j)) WITH ORDINALITY AS e(v, n)';
CREATE FUNCTION each_member(j text) RETURNS TABLE (key text, value text) LANGUAGE sql IMMUTABLE STRICT ROWS 16 AS
  'SELECT key, value FROM json_each_text(stored_json(j))';

-- The greater and the smaller of two: unlike greatest() and least(), they are null if one of them is.
CREATE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2)';
CREATE FUNCTION max(bigint, bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT greatest($1, $2, $3)';
CREATE FUNCTION min(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT least($1, $2)';
CREATE FUNCTION instr(text, text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS 'SELECT strpos($1, $2)::bigint';
CREATE FUNCTION unicode(text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
  $$ SELECT CASE WHEN $1 <> '' THEN ascii($1)::bigint END $$;
CREATE FUNCTION characters(VARIADIC codes integer[]) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  $$ SELECT string_agg(chr(code), '' ORDER BY n) FROM unnest(codes) WITH ORDINALITY AS c(code, n) $$;

CREATE FUNCTION iif(boolean, anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN $1 THEN $2 ELSE $3 END';
CREATE FUNCTION ifnull(anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql IMMUTABLE AS 'SELECT coalesce($1, $2)';

-- A condition counts as 1 where it is true.
CREATE FUNCTION add_condition(bigint, boolean) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 + coalesce($2::int, 0)';
CREATE AGGREGATE sum (boolean) (SFUNC = add_condition, STYPE = bigint, INITCOND = '0');
CREATE FUNCTION either_condition(boolean, boolean) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 OR $2';
CREATE AGGREGATE max (boolean) (SFUNC = either_condition, STYPE = boolean);
CREATE FUNCTION both_conditions(boolean, boolean) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 AND $2';
CREATE AGGREGATE min (boolean) (SFUNC = both_conditions, STYPE = boolean);
CREATE AGGREGATE group_concat (text, text)
  (SFUNC = pg_catalog.string_agg_transfn, STYPE = internal, FINALFUNC = pg_catalog.string_agg_finalfn);

-- Times for people, in UTC.
CREATE FUNCTION strftime(form text, seconds numeric, since text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  $$ SELECT to_char(to_timestamp(floor(seconds)::double precision) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') $$;
CREATE FUNCTION substr(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
  'SELECT CASE WHEN $2 < 0 THEN right($1, (-$2)::integer) ELSE pg_catalog.substr($1, $2::integer) END';

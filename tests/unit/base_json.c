/* json: what is read, what is refused with which text, what is written. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/random.h"

/* Writes a document back, so that a table can compare texts. */
static void write_again(struct json_writer *w, const struct json *json)
{
	switch (json->type) {
	case JSON_NULL:
		jw_null(w);
		break;
	case JSON_BOOL:
		jw_bool(w, json->boolean);
		break;
	case JSON_NUMBER:
		jw_raw(w, json->text.data, json->text.len);
		break;
	case JSON_STRING:
		jw_string_n(w, json->text.data, json->text.len);
		break;
	case JSON_ARRAY:
		jw_begin_array(w);
		for (size_t i = 0; i < json->count; i++)
			write_again(w, &json->items[i]);
		jw_end_array(w);
		break;
	case JSON_OBJECT:
		jw_begin_object(w);
		for (size_t i = 0; i < json->count; i++) {
			jw_key(w, json->keys[i].data);
			write_again(w, &json->items[i]);
		}
		jw_end_object(w);
		break;
	}
}

/* Parses a copy without a byte to spare, so that sanitizers see any step beyond it. */
static int parse(struct arena *arena, const char *data, size_t len, struct json **out,
		 struct err *err)
{
	char *copy = xmemdup(data, len);
	int rv = json_parse(arena, copy, len, out, err);

	free(copy);
	return rv;
}

Test(json, reads)
{
	static const struct {
		const char *text, *again;
	} table[] = {
		{"null", "null"},
		{" \t\r\n true \n", "true"},
		{"false", "false"},
		{"0", "0"},
		{"-12.50e+3 ", "-12.50e+3"},
		{"9223372036854775807", "9223372036854775807"},
		{"18446744073709551615", "18446744073709551615"},
		{"1e-999999", "1e-999999"},
		{"\"\"", "\"\""},
		{"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "\"a\\\"\\\\/\\b\\f\\n\\r\\tz\""},
		{"\"\\u0041\\u00e9\\u20AC\"", "\"A\xc3\xa9\xe2\x82\xac\""},
		{"\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""},
		{"\"\\udbff\\udfff\"", "\"\xf4\x8f\xbf\xbf\""},
		{"\"\\u0000x\\u001f\\u007f\"", "\"\\u0000x\\u001F\x7f\""},
		{"\"\xff\xfe\x80 not UTF-8\"", "\"\xff\xfe\x80 not UTF-8\""},
		{"[]", "[]"},
		{"[ ]", "[]"},
		{"{ }", "{}"},
		{"[1,[2,[3,{}]],[]]", "[1,[2,[3,{}]],[]]"},
		{"{\"a\" : 1 , \"b\":{\"c\":[null,true]}, \"\":\"\"}",
		 "{\"a\":1,\"b\":{\"c\":[null,true]},\"\":\"\"}"},
		{"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct arena arena = {0};
		struct buf out = BUF_INIT;
		struct json_writer w;
		struct err err = {""};
		struct json *json;

		cr_assert_eq(parse(&arena, table[i].text, strlen(table[i].text), &json, &err), 0,
			     "%s: %s", table[i].text, err.text);
		jw_init(&w, &out);
		write_again(&w, json);
		cr_assert_str_eq(out.data, table[i].again);
		buf_free(&out);
		arena_free(&arena);
	}
}

#define NEAR(line, rest) "syntax error at line " #line " near: " rest
#define TRAILING(text) "Parsed JSON included non-whitespace trailing characters: " text

Test(json, refuses_with_the_words_of_picojson)
{
	static const struct {
		const char *text, *error;
	} table[] = {
		{"", NEAR(1, "")},
		{" \n ", NEAR(2, "")},
		{"{", NEAR(1, "")},
		{"{\n", NEAR(1, "")},
		{"[", NEAR(1, "")},
		{"\"", NEAR(1, "")},
		{"\"abc", NEAR(1, "")},
		{"{\"type\":}", NEAR(1, "}")},
		{"{\"type\": \"SUBSCRIBE\",}", NEAR(1, "}")},
		{"nul", NEAR(1, "")},
		{"nulx rest", NEAR(1, "x rest")},
		{"tru\ne", NEAR(1, "")},
		{"Null", NEAR(1, "Null")},
		{"{\"a\" \"b\"}", NEAR(1, "\"b\"}")},
		{"{'type': 1}", NEAR(1, "'type': 1}")},
		{"{\"a\":1,\n \"b\":2,\n oops here\n}", NEAR(3, "oops here")},
		{"{a:1}", NEAR(1, "a:1}")},
		{"[1 2]", NEAR(1, "2]")},
		{"[1,]", NEAR(1, "]")},
		{"[,1]", NEAR(1, ",1]")},
		{"[1}", NEAR(1, "}")},
		{"{\"a\":1]", NEAR(1, "]")},
		{"]", NEAR(1, "]")},
		{"-", NEAR(1, "")},
		{"1-2 x", NEAR(1, " x")},
		{"1.2.3", NEAR(1, "")},
		{"1e", NEAR(1, "")},
		{"+1", NEAR(1, "+1")},
		{".5", NEAR(1, ".5")},
		{"NaN", NEAR(1, "NaN")},
		{"Infinity", NEAR(1, "Infinity")},
		{"\"\\x41\" tail", NEAR(1, "41\" tail")},
		{"\"\\", NEAR(1, "")},
		{"\"\\u12", NEAR(1, "")},
		{"\"\\u12g4\"", NEAR(1, "g4\"")},
		{"\"\\ud800\"", NEAR(1, "\"")},
		{"\"\\ud800\\n\"", NEAR(1, "n\"")},
		{"\"\\ud800\\u0041\"", NEAR(1, "\"")},
		{"\"\\udc00\"", NEAR(1, "\"")},
		{"\"a\nb\"", NEAR(1, "")},
		{"\"a\tb\"", NEAR(1, "b\"")},
		{"\"a\x01\x02 b\x7f\"", NEAR(1, " b\x7f\"")},
		{"\xef\xbf\xbe", NEAR(1, "\xef\xbf\xbe")},
		{"\xef\xbb\xbf{}", NEAR(1, "\xef\xbb\xbf{}")},
		{"1e999999", "Value out of range"},
		{"[-1e999999]", "Value out of range"},
		{"{}{}", TRAILING("{}")},
		{"{} {} \n", TRAILING(" {}")},
		{"1x", TRAILING("x")},
		{"true,", TRAILING(",")},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct arena arena = {0};
		struct err err = {""};
		struct json *json = (struct json *)&arena;

		cr_assert_eq(parse(&arena, table[i].text, strlen(table[i].text), &json, &err),
			     ERR_INVALID, "%s", table[i].text);
		cr_assert_str_eq(err.text, table[i].error);
		cr_assert_null(json);
		arena_free(&arena);
	}
}

Test(json, takes_nul_bytes_for_what_they_are)
{
	struct arena arena = {0};
	struct err err = {""};
	struct json *json;

	cr_assert_eq(parse(&arena, "\0", 1, &json, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, NEAR(1, ""));
	cr_assert_eq(parse(&arena, "1\0", 2, &json, &err), ERR_INVALID);
	cr_assert_eq(parse(&arena, "\"a\0b\"", 5, &json, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, NEAR(1, "b\""));
	cr_assert_eq(parse(&arena, "\"a\\u0000b\"", 10, &json, &err), 0);
	cr_assert_eq(json->text.len, 3);
	cr_assert_arr_eq(json->text.data, "a\0b", 4);
	arena_free(&arena);
}

Test(json, every_beginning_of_a_document_is_refused)
{
	static const char text[] =
		"{\"a\":[1.5,{\"b\":\"\\ud83d\\ude00\"},null,true,\"x\\n\"],\"c\":{}}";
	struct arena arena = {0};

	for (size_t len = 0; len <= strlen(text); len++) {
		struct err err = {""};
		struct json *json;
		int rv = parse(&arena, text, len, &json, &err);

		cr_assert_eq(rv, len == strlen(text) ? 0 : ERR_INVALID, "%zu bytes", len);
		cr_assert_eq(rv == 0, err.text[0] == '\0');
	}
	arena_free(&arena);
}

static int parse_nested(size_t depth, bool objects, struct err *err)
{
	struct arena arena = {0};
	struct buf text = BUF_INIT;
	struct json *json;
	int rv;

	for (size_t i = 0; i < depth; i++)
		buf_puts(&text, objects ? "{\"k\":" : "[");
	buf_puts(&text, "1");
	for (size_t i = 0; i < depth; i++)
		buf_puts(&text, objects ? "}" : "]");
	rv = parse(&arena, text.data, text.len, &json, err);
	buf_free(&text);
	arena_free(&arena);
	return rv;
}

Test(json, bounds_depth)
{
	struct err err = {""};

	cr_assert_eq(parse_nested(JSON_DEPTH_MAX, false, &err), 0, "%s", err.text);
	cr_assert_eq(parse_nested(JSON_DEPTH_MAX, true, &err), 0, "%s", err.text);
	cr_assert_eq(parse_nested(JSON_DEPTH_MAX + 1, false, &err), ERR_INVALID);
	cr_assert(str_has_prefix(err.text, "syntax error at line 1 near: 1]]]"));
	cr_assert_eq(parse_nested(JSON_DEPTH_MAX + 1, true, &err), ERR_INVALID);
	cr_assert_eq(parse_nested(1000000, false, &err), ERR_INVALID);
	cr_assert_eq(parse_nested(1000000, true, &err), ERR_INVALID);
}

Test(json, frees_the_depth_of_what_is_closed)
{
	struct arena arena = {0};
	struct buf text = BUF_INIT;
	struct err err = {""};
	struct json *json;

	buf_puts(&text, "[[]");
	for (int i = 0; i < 1000; i++)
		buf_puts(&text, ",[],{}");
	buf_puts(&text, "]");
	cr_assert_eq(parse(&arena, text.data, text.len, &json, &err), 0, "%s", err.text);
	cr_assert_eq(json->count, 2001);
	buf_free(&text);
	arena_free(&arena);
}

/* Quadratic work would not end within the time of a test. */
Test(json, is_linear, .timeout = 60)
{
	enum { COUNT = 200000 };
	struct arena arena = {0};
	struct buf text = BUF_INIT;
	struct err err = {""};
	struct json *json;

	buf_puts(&text, "{\"same\":0");
	for (int i = 0; i < COUNT; i++)
		buf_printf(&text, ",\"same\":\"\\u0041%d\"", i);
	buf_puts(&text, "}");
	cr_assert_eq(parse(&arena, text.data, text.len, &json, &err), 0, "%s", err.text);
	cr_assert_eq(json->count, COUNT + 1);
	cr_assert_str_eq(json_get_string(json, "same"), "A199999", "the last one wins");
	buf_clear(&text);
	for (int i = 0; i < 2000000; i++)
		buf_putc(&text, '9');
	cr_assert_eq(parse(&arena, text.data, text.len, &json, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, "Value out of range");
	text.data[0] = '"';
	cr_assert_eq(parse(&arena, text.data, text.len, &json, &err), ERR_INVALID);
	buf_clear(&text);
	for (int i = 0; i < 2000000; i++)
		buf_putc(&text, '\n');
	cr_assert_eq(parse(&arena, text.data, text.len, &json, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, NEAR(2000000, ""));
	buf_free(&text);
	arena_free(&arena);
}

Test(json, survives_random_changes)
{
	static const char start[] = "{\"type\":\"ACCEPT\",\"n\":[1,-2.5e3,{\"u\":"
				    "\"\\ud83d\\ude00\\n\"}],\"b\":[true,null]}";
	struct rng rng;

	rng_seed(&rng, 11);
	for (int round = 0; round < 20000; round++) {
		struct arena arena = {0};
		struct err err = {""};
		char text[sizeof(start)];
		struct json *json;

		memcpy(text, start, sizeof(start));
		for (uint64_t n = rng_next(&rng) % 4 + 1; n; n--)
			text[rng_next(&rng) % (sizeof(start) - 1)] =
				rng_next(&rng) % 2 ? "{}[]\",:\\u0"[rng_next(&rng) % 10]
						   : (char)rng_next(&rng);
		if (parse(&arena, text, sizeof(start) - 1, &json, &err) < 0)
			cr_assert_neq(err.text[0], '\0');
		else
			cr_assert_not_null(json);
		arena_free(&arena);
	}
}

Test(json, cuts_long_error_texts)
{
	struct arena arena = {0};
	struct err err = {""};
	struct json *json;
	char text[5000];

	memset(text, 'x', sizeof(text));
	cr_assert_eq(parse(&arena, text, sizeof(text), &json, &err), ERR_INVALID);
	cr_assert_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	memcpy(text, "{} ", 3);
	cr_assert_eq(parse(&arena, text, sizeof(text), &json, &err), ERR_INVALID);
	cr_assert_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	arena_free(&arena);
}

Test(json, looks_up)
{
	static const char text[] = "{\"a\":\"x\",\"n\":5,\"a\":\"y\",\"z\\u0000\":1}";
	struct arena arena = {0};
	struct json *json;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, NULL), 0);
	cr_assert_str_eq(json_get_string(json, "a"), "y");
	cr_assert_str_eq(json_get_string(json, "n"), "");
	cr_assert_str_eq(json_get_string(json, "none"), "");
	cr_assert_null(json_get(json, "z"));
	cr_assert_null(json_get(json_get(json, "a"), "b"));
	cr_assert_null(json_get(NULL, "b"));
	cr_assert_eq(json_number(json_get(json, "n")), 5);
	cr_assert_eq(json_number(json_get(json, "a")), 0);
	cr_assert_eq(json_number(NULL), 0);
	arena_free(&arena);
}

Test(json, tells_integers)
{
	static const struct {
		const char *text;
		bool whole;
		int64_t value;
	} table[] = {
		{"0", true, 0},
		{"-0", true, 0},
		{"007", true, 7},
		{"9223372036854775807", true, INT64_MAX},
		{"-9223372036854775808", true, INT64_MIN},
		{"9223372036854775808", false, 0},
		{"-9223372036854775809", false, 0},
		{"9007199254740993", true, 9007199254740993},
		{"1.0", true, 1},
		{"1e3", true, 1000},
		{"1.5", false, 0},
		{"1e19", false, 0},
		{"-1e300", false, 0},
		{"9.3e18", false, 0},
		{"1e-5", false, 0},
		{"\"5\"", false, 0},
		{"true", false, 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct arena arena = {0};
		struct json *json;
		int64_t value = 0;

		cr_assert_eq(json_parse(&arena, table[i].text, strlen(table[i].text), &json, NULL),
			     0, "%s", table[i].text);
		cr_assert_eq(json_integer(json, &value), table[i].whole, "%s", table[i].text);
		cr_assert_eq(value, table[i].value, "%s", table[i].text);
		arena_free(&arena);
	}
}

Test(json_writer, sets_commas)
{
	struct buf out = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &out);
	jw_begin_object(&w);
	jw_kv_string(&w, "s", "x");
	jw_kv_int(&w, "i", INT64_MIN);
	jw_kv_double(&w, "d", 4);
	jw_kv_bool(&w, "b", true);
	jw_key(&w, "a");
	jw_begin_array(&w);
	jw_begin_array(&w);
	jw_end_array(&w);
	jw_begin_object(&w);
	jw_end_object(&w);
	jw_uint(&w, UINT64_MAX);
	jw_null(&w);
	jw_bool(&w, false);
	jw_raw(&w, "[1,2]", 5);
	jw_string(&w, NULL);
	jw_end_array(&w);
	jw_key(&w, "\"k\n");
	jw_int(&w, 0);
	jw_end_object(&w);
	cr_assert_str_eq(
		out.data,
		"{\"s\":\"x\",\"i\":-9223372036854775808,\"d\":4.0,\"b\":true,\"a\":[[],{},"
		"18446744073709551615,null,false,[1,2],\"\"],\"\\\"k\\n\":0}");
	buf_free(&out);
}

Test(json_writer, escapes_strings)
{
	struct buf out = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &out);
	jw_string_n(&w, "a\"b\\c/d\b\f\n\r\t\x01\x1f\x7f\0\xff\xc3\xa9", 19);
	cr_assert_str_eq(out.data,
			 "\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\\u001F\x7f\\u0000\xff\xc3\xa9"
			 "\"");
	buf_free(&out);
}

Test(json_writer, prints_doubles_as_mesos)
{
	static const struct {
		double value;
		const char *text;
	} table[] = {
		{0, "0.0"},
		{-0.0, "-0.0"},
		{4, "4.0"},
		{-4, "-4.0"},
		{0.1, "0.1"},
		{0.1 + 0.2, "0.30000000000000004"},
		{1.0 / 3, "0.3333333333333333"},
		{1455643643.42422, "1455643643.42422"},
		{123456.789, "123456.789"},
		{999999999999999, "999999999999999.0"},
		{1e15, "1000000000000000.0"},
		{9007199254740993.0, "9007199254740992.0"},
		{123456789012345680000.0, "123456789012345680000.0"},
		{1e20, "100000000000000000000.0"},
		{1e21, "1e21"},
		{1.5e21, "1.5e21"},
		{-1.25e300, "-1.25e300"},
		{0.001, "0.001"},
		{0.000001, "0.000001"},
		{0.00000123, "0.00000123"},
		{0.0000009, "9e-7"},
		{1.5e-7, "1.5e-7"},
		{5e-324, "5e-324"},
		{1e-310, "1e-310"},
		{1.7976931348623157e308, "1.7976931348623157e308"},
		{2.2250738585072014e-308, "2.2250738585072014e-308"},
		{INFINITY, "\"Infinity\""},
		{-INFINITY, "\"-Infinity\""},
		{NAN, "\"NaN\""},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct buf out = BUF_INIT;
		struct json_writer w;

		jw_init(&w, &out);
		jw_double(&w, table[i].value);
		cr_assert_str_eq(out.data, table[i].text);
		buf_free(&out);
	}
}

Test(json_writer, doubles_read_back_the_same)
{
	struct rng rng;

	rng_seed(&rng, 5);
	for (int i = 0; i < 20000; i++) {
		struct buf out = BUF_INIT;
		struct json_writer w;
		uint64_t bits = rng_next(&rng);
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		jw_init(&w, &out);
		jw_double(&w, value);
		cr_assert_eq(strtod(out.data, NULL), value, "%s", out.data);
		buf_free(&out);
	}
}

/* The digits of the shortest decimal, by trial. */
static void shortest(double value, char out[64])
{
	for (int precision = 1; precision <= 17; precision++) {
		snprintf(out, 64, "%.*e", precision - 1, value);
		if (strtod(out, NULL) == value)
			return;
	}
}

static int significant(const char *text)
{
	int count = 0, zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (*text == '0' && count == 0))
			continue;
		count++;
		zeros = *text == '0' ? zeros + 1 : 0;
	}
	return count - zeros;
}

/* Times, amounts and shares are what is written most, each by a way of its own. */
Test(json_writer, doubles_are_the_shortest)
{
	struct rng rng;

	rng_seed(&rng, 6);
	for (int i = 0; i < 60000; i++) {
		struct buf out = BUF_INIT;
		struct json_writer w;
		uint64_t bits = rng_next(&rng);
		double value, unit = (double)(bits >> 11) * 0x1p-53;
		char expected[64];

		if (i % 6 == 0)
			value = 1.7e9 + unit * 1e8;
		else if (i % 6 == 1)
			value = (double)(bits % 1000000) / 1000;
		else if (i % 6 == 2)
			value = unit;
		else if (i % 6 == 3)
			value = ldexp(1 + unit, (int)(bits % 60) - 4);
		else if (i % 6 == 4)
			value = ldexp((double)(bits >> 12 | 1), -(int)(bits % 8));
		else
			value = (double)(bits % 100000) / 1e9;
		shortest(value, expected);
		jw_init(&w, &out);
		jw_double(&w, value);
		cr_assert_eq(strtod(out.data, NULL), value, "%s", out.data);
		if (value != floor(value))
			cr_assert_eq(significant(out.data), significant(expected), "%s for %s",
				     out.data, expected);
		buf_free(&out);
	}
}

Test(json_writer, finds_each_escape_at_each_place)
{
	static const char special[] = "\"\\\n\x1f";

	for (size_t at = 0; at < 40; at++)
		for (const char *c = special; *c; c++) {
			struct buf out = BUF_INIT;
			struct json_writer w;
			struct arena arena;
			struct json *json;
			struct err err;
			char text[41];

			memset(text, at % 2 ? '\xff' : ' ', 40);
			text[40] = '\0';
			text[at] = *c;
			jw_init(&w, &out);
			jw_begin_object(&w);
			jw_kv_string(&w, text, text);
			jw_end_object(&w);
			arena_init(&arena);
			cr_assert_eq(json_parse(&arena, out.data, out.len, &json, &err), 0);
			cr_assert_str_eq(json->keys[0].data, text);
			cr_assert_str_eq(json->items[0].text.data, text);
			arena_free(&arena);
			buf_free(&out);
		}
}

Test(json_writer, prints_integers)
{
	struct buf out = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &out);
	jw_begin_array(&w);
	jw_int(&w, 0);
	jw_int(&w, INT64_MIN);
	jw_int(&w, INT64_MAX);
	jw_uint(&w, UINT64_MAX);
	jw_bool(&w, true);
	jw_bool(&w, false);
	jw_null(&w);
	jw_end_array(&w);
	cr_assert_str_eq(out.data, "[0,-9223372036854775808,9223372036854775807,"
				   "18446744073709551615,true,false,null]");
	buf_free(&out);
}

/* Containers are values, too. */
Test(json_reader, counts_values)
{
	static const struct {
		const char *text;
		size_t values;
	} documents[] = {{"1", 1},
			 {"[]", 1},
			 {"[1,2,3]", 4},
			 {"{\"a\":[],\"b\":{\"c\":null}}", 4},
			 {"[[[true]]]", 4},
			 {"[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\"]", 8},
			 {"[[],[],[],[]]", 5}};

	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		const char *text = documents[i].text;
		struct err err = {""};
		struct arena arena;
		struct json *json;

		arena_init(&arena);
		cr_expect_eq(json_parse_up_to(documents[i].values, &arena, text, strlen(text),
					      &json, &err),
			     0, "%s: %s", text, err.text);
		cr_expect_eq(json_parse_up_to(documents[i].values - 1, &arena, text, strlen(text),
					      &json, &err),
			     ERR_LIMIT, "%s", text);
		cr_expect(str_has_prefix(err.text, "More than "), "%s", err.text);
		cr_expect_null(json);
		arena_free(&arena);
	}
}

// std::to_chars() for json_write.c, which is C; see shortest.h.
#include <charconv>
#include <cstdlib>

extern "C" {
#include "base/json/shortest.h"
}

extern "C" int shortest_digits(double value, char digits[SHORTEST_DIGITS_MAX], int *point)
{
	char text[32]; // "d.ddde+dd": 24 bytes at most
	char *at = text;
	int len = 0;

	*std::to_chars(text, text + sizeof(text) - 1, value, std::chars_format::scientific).ptr =
		'\0';
	for (; *at && *at != 'e'; at++) {
		if (*at != '.')
			digits[len++] = *at;
	}
	*point = std::atoi(at + 1) + 1;
	return len;
}

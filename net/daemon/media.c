#include "net/daemon/media.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

const char *media_of(const char *name)
{
	static const struct {
		const char *extension;
		const char *media;
	} known[] = {
		{".css", "text/css"},	       {".csv", "text/csv"},
		{".gif", "image/gif"},	       {".htm", "text/html"},
		{".html", "text/html"},	       {".jpeg", "image/jpeg"},
		{".jpg", "image/jpeg"},	       {".js", "application/x-javascript"},
		{".json", "application/json"}, {".pdf", "application/pdf"},
		{".png", "image/png"},	       {".svg", "image/svg+xml"},
		{".tar", "application/x-tar"}, {".txt", "text/plain"},
		{".xml", "text/xml"},	       {".zip", "application/zip"},
	};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(known) / sizeof(*known); i++)
		if (!strcasecmp(dot, known[i].extension))
			return known[i].media;
	return "application/octet-stream";
}

// For wcwidth: it is of X/Open, not of C.
#define _XOPEN_SOURCE 700
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "CSluiceTerminal.h"
#include <locale.h>
#include <stddef.h>
#include <wchar.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

int cterminal_width(uint32_t character) {
    // Of this thread, and given back: a locale of the process would change how others sort and print.
    static locale_t utf8;
    if (!utf8) {
        static const char *const names[] = {"C.UTF-8", "en_US.UTF-8", "UTF-8"};
        for (size_t index = 0; index < sizeof names / sizeof names[0] && !utf8; index++)
            utf8 = newlocale(LC_CTYPE_MASK, names[index], (locale_t)0);
        if (!utf8) return 1;
    }
    locale_t before = uselocale(utf8);
    int width = wcwidth((wchar_t)character);
    uselocale(before);
    return width;
}

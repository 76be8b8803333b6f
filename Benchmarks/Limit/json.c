// A parser that keeps nothing but the text of strings and numbers: RFC 8259 whole, with a limit on nesting.
//
// Strings are checked to be UTF-8, unescaped and copied; runs without an escape are copied at once.

#include "limit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { maximum_depth = 512 };

static const unsigned char *at, *end;
static unsigned char copy[maximum_length];
static size_t copied;

static _Noreturn void refuse(void) {
    fail("a payload is not JSON");
}

static void skip_space(void) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
}

static void expect(const char *word) {
    size_t length = strlen(word);
    if ((size_t)(end - at) < length || memcmp(at, word, length) != 0) refuse();
    at += length;
}

static void keep(const unsigned char *from, size_t length) {
    memcpy(copy + copied, from, length);
    copied += length;
}

static uint32_t hexadecimal(void) {
    uint32_t value = 0;
    if (end - at < 4) refuse();
    for (int digit = 0; digit < 4; digit++, at++) {
        value <<= 4;
        if (*at >= '0' && *at <= '9') value |= (uint32_t)(*at - '0');
        else if (*at >= 'a' && *at <= 'f') value |= (uint32_t)(*at - 'a' + 10);
        else if (*at >= 'A' && *at <= 'F') value |= (uint32_t)(*at - 'A' + 10);
        else refuse();
    }
    return value;
}

// Four digits, or a pair of them for what lies above U+FFFF.
static void keep_code_point(void) {
    uint32_t point = hexadecimal();
    if (point >= 0xDC00 && point < 0xE000) refuse();
    if (point >= 0xD800 && point < 0xDC00) {
        expect("\\u");
        uint32_t low = hexadecimal();
        if (low < 0xDC00 || low >= 0xE000) refuse();
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    unsigned char *to = copy + copied;
    if (point < 0x80) {
        *to++ = (unsigned char)point;
    } else if (point < 0x800) {
        *to++ = (unsigned char)(0xC0 | point >> 6);
        *to++ = (unsigned char)(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        *to++ = (unsigned char)(0xE0 | point >> 12);
        *to++ = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        *to++ = (unsigned char)(0x80 | (point & 0x3F));
    } else {
        *to++ = (unsigned char)(0xF0 | point >> 18);
        *to++ = (unsigned char)(0x80 | (point >> 12 & 0x3F));
        *to++ = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        *to++ = (unsigned char)(0x80 | (point & 0x3F));
    }
    copied = (size_t)(to - copy);
}

static void keep_escaped(void) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (++at == end) refuse();
    if (*at == 'u') {
        at++;
        keep_code_point();
        return;
    }
    const char *name = *at ? strchr(names, *at) : 0;
    if (!name) refuse();
    at++;
    keep((const unsigned char *)&meanings[name - names], 1);
}

// A character of more than one byte: neither overlong, nor a surrogate, nor above U+10FFFF.
static void skip_character(void) {
    unsigned char first = *at;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || end - at <= more) refuse();
    unsigned char second = at[1];
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) refuse();
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) refuse();
    for (int index = 1; index <= more; index++) {
        if ((at[index] & 0xC0) != 0x80) refuse();
    }
    at += more + 1;
}

static void parse_string(void) {
    expect("\"");
    for (const unsigned char *plain = at;; plain = at) {
        while (at < end && *at != '"' && *at != '\\' && *at >= 0x20) {
            if (*at < 0x80) at++;
            else skip_character();
        }
        keep(plain, (size_t)(at - plain));
        if (at == end || *at < 0x20) refuse();
        if (*at == '"') break;
        keep_escaped();
    }
    at++;
}

static void skip_digits(void) {
    const unsigned char *start = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    if (at == start) refuse();
}

static void parse_number(void) {
    const unsigned char *start = at;
    if (*at == '-') at++;
    if (at < end && *at == '0') at++;
    else skip_digits();
    if (at < end && *at == '.') {
        at++;
        skip_digits();
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        skip_digits();
    }
    keep(start, (size_t)(at - start));
}

static void parse_value(int depth);

// What stands between two brackets: nothing, or members with commas between them.
static void parse_members(char close, int depth) {
    at++;
    skip_space();
    if (at < end && *at == close) {
        at++;
        return;
    }
    for (;;) {
        skip_space();
        if (close == '}') {
            parse_string();
            skip_space();
            expect(":");
        }
        parse_value(depth);
        if (at == end) refuse();
        if (*at == close) break;
        expect(",");
    }
    at++;
}

static void parse_value(int depth) {
    if (depth == 0) refuse();
    skip_space();
    if (at == end) refuse();
    switch (*at) {
    case '{': parse_members('}', depth - 1); break;
    case '[': parse_members(']', depth - 1); break;
    case '"': parse_string(); break;
    case 't': expect("true"); break;
    case 'f': expect("false"); break;
    case 'n': expect("null"); break;
    default: parse_number();
    }
    skip_space();
}

void json_parse(struct payload payload) {
    // What is copied is never longer than what it was.
    if (payload.length > maximum_length) fail("a payload is too long");
    at = (const unsigned char *)payload.text;
    end = at + payload.length;
    copied = 0;
    parse_value(maximum_depth);
    if (at != end) refuse();
    // The copy is there for somebody else to read: the loop must not be optimised away.
    __asm__ volatile("" : : "r"(copy), "r"(copied) : "memory");
}

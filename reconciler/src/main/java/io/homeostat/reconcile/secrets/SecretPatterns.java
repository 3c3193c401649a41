package io.homeostat.reconcile.secrets;

import java.util.BitSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds what looks like a secret, whoever wrote it: queries and user information of URLs, the values of whatever is called a password, a
 * token, a secret or a key, authorizations, JSON Web Tokens and private keys. Takes time in proportion to the text, whatever is in it.
 */
final class SecretPatterns {
    private static final String NAME =
            "(?:passw|passphrase|pwd|secret|token|credential|authorization|api[-_]?key|access[-_]?key|private[-_]?key"
                    + "|signing[-_]?key)[A-Za-z0-9_.-]{0,40}";

    /** Up to where the value begins. */
    private static final Pattern NAMED =
            Pattern.compile("(?i)" + NAME + "\\\\{0,2}[\"']?[ \\t]{0,3}[:=][ \\t]{0,3}(?=[^ \\t\\r\\n])");

    private static final Pattern OPTION =
            Pattern.compile("(?i)-[A-Za-z0-9_-]{0,40}" + NAME + "[ \\t]{1,3}(?=[^ \\t\\r\\n-])");
    private static final Pattern SCHEME =
            Pattern.compile("(?i)\\b(?:bearer|basic)[ \\t]{1,3}([A-Za-z0-9._~+/=-]{4,4096})");
    private static final Pattern WEB_TOKEN =
            Pattern.compile("(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\\.[A-Za-z0-9_.-]{1,8192}");
    private static final Pattern PRIVATE_KEY =
            Pattern.compile("-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----([^\"]{0,20000}?)(?:-----END|\\z)");

    private SecretPatterns() {}

    /** Marks the characters that are secret. */
    static void find(String text, BitSet secret) {
        urls(text, secret);
        named(NAMED.matcher(text), text, secret);
        named(OPTION.matcher(text), text, secret);
        groups(SCHEME.matcher(text), 1, secret);
        groups(WEB_TOKEN.matcher(text), 0, secret);
        groups(PRIVATE_KEY.matcher(text), 1, secret);
    }

    /** Whether something with such a name, an option for example, has a secret as its value. */
    static boolean isNameOfSecret(String name) {
        return NAMED.matcher(name + "=x").find();
    }

    private static void groups(Matcher found, int group, BitSet secret) {
        while (found.find()) {
            secret.set(found.start(group), found.end(group));
        }
    }

    private static void named(Matcher found, String text, BitSet secret) {
        while (found.find()) {
            int from = found.end();
            secret.set(from, valueEnd(text, from, found.group().regionMatches(true, 0, "authorization", 0, 13)));
        }
    }

    /** Where a value ends that begins here: with its quote, or where a word ends; of an authorization, with its line. */
    private static int valueEnd(String text, int from, boolean line) {
        int at = from;
        while (at < text.length() && text.charAt(at) == '\\') {
            at++;
        }
        boolean escaped = at > from;
        char first = at < text.length() ? text.charAt(at) : ' ';
        boolean quoted = first == '"' || first == '\'';
        for (int i = quoted ? at + 1 : at; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\n' || c == '\r') {
                return i;
            }
            if (quoted) {
                if (c == first && (escaped || text.charAt(i - 1) != '\\')) {
                    return escaped ? i - 1 : i;
                }
            } else if (c == '"' || (!line && (Character.isWhitespace(c) || ",;&}'".indexOf(c) >= 0))) {
                return Math.max(i, from + 1);
            }
        }
        return text.length();
    }

    private static void urls(String text, BitSet secret) {
        int from = 0;
        for (int colon = text.indexOf("://"); colon >= 0; colon = text.indexOf("://", from)) {
            int end = colon + 3;
            int query = -1;
            while (end < text.length() && isOfUrl(text.charAt(end))) {
                if (query < 0 && (text.charAt(end) == '?' || text.charAt(end) == '#')) {
                    query = end;
                }
                end++;
            }
            while (end > colon + 3 && text.charAt(end - 1) == '\\') {
                end--;
            }
            if (query >= 0 && query + 1 < end) {
                secret.set(query + 1, end);
            }
            users(text, colon, query >= 0 ? query : end, secret);
            from = Math.max(end, colon + 3);
        }
    }

    /** Of every URL in this one: a proxy's path may be another URL. */
    private static void users(String text, int colon, int end, BitSet secret) {
        for (int next = colon; next >= 0 && next < end; next = text.indexOf("://", next + 3)) {
            int at = -1;
            for (int i = next + 3; i < end && text.charAt(i) != '/'; i++) {
                if (text.charAt(i) == '@') {
                    at = i;
                }
            }
            if (at > next + 3) {
                secret.set(next + 3, at);
            }
        }
    }

    private static boolean isOfUrl(char c) {
        return c > ' ' && c != '"' && c != '<' && c != '>' && c != '`';
    }
}

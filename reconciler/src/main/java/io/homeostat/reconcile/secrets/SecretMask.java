package io.homeostat.reconcile.secrets;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.homeostat.desired.model.Redaction;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Masks secrets in texts such as logs: those that it has learnt, escaped for JSON as well, and what looks like one ({@link Patterns}).
 * Ordinary texts ({@link #isOrdinary}) are not searched for, since they occur everywhere; they are only left out of declarations.
 */
public final class SecretMask {
    public static final String MASK = Redaction.MASK;

    private static final int SHORTEST = 4;
    private static final int SHORTEST_NUMBER = 6;

    /** Shorter words are only matched as whole words. */
    private static final int FOUND_ANYWHERE = 8;

    private static final Pattern NUMBER = Pattern.compile("[0-9.,:+-]*");
    private static final Pattern PIN = Pattern.compile("[0-9]{4,5}");
    private static final Pattern WORD = Pattern.compile("[A-Za-z]*");
    private static final Set<String> SWITCHES =
            Set.of("true", "false", "null", "none", "auto", "enabled", "disabled", "debug", "info", "warn", "error");

    private final int shortest;
    private final Set<String> secrets = new HashSet<>();
    private final Map<Integer, List<String>> byBeginning = new HashMap<>();
    private final BitSet beginnings = new BitSet(1 << 16);

    /** Learns whatever is not ordinary. */
    public SecretMask() {
        this(SHORTEST);
    }

    /** @param shortest shorter texts are not learnt, in characters */
    public SecretMask(int shortest) {
        this.shortest = shortest;
    }

    /** Masks this text from now on, unless it is ordinary. */
    public void learn(String secret) {
        if (secret.length() >= shortest && !isOrdinary(secret)) {
            rememberBoth(secret);
        }
    }

    /** The same however short, of what its name or its place says is a secret; it may be a PIN. */
    void learnNamed(String secret) {
        for (String form : List.of(secret, secret.strip())) {
            if (!isOrdinary(form) || PIN.matcher(form).matches()) {
                rememberBoth(form);
            }
        }
    }

    private void rememberBoth(String secret) {
        remember(secret);
        remember(new String(JsonStringEncoder.getInstance().quoteAsString(secret)));
    }

    /** Too short, a small number, or a word such as true or off. */
    static boolean isOrdinary(String text) {
        return text.strip().length() < SHORTEST
                || (text.length() < SHORTEST_NUMBER && NUMBER.matcher(text).matches())
                || SWITCHES.contains(text.toLowerCase(Locale.ROOT));
    }

    private void remember(String secret) {
        if (secrets.add(secret)) {
            int beginning = beginning(secret, 0);
            beginnings.set(beginning & 0xffff);
            byBeginning.computeIfAbsent(beginning, any -> new ArrayList<>()).add(secret);
        }
    }

    private static int beginning(String text, int at) {
        int hash = 0;
        for (int i = at; i < at + SHORTEST; i++) {
            hash = hash * 31 + text.charAt(i);
        }
        return hash;
    }

    /** The text with every secret replaced; overlapping ones are replaced as one, so that no part remains. */
    public String mask(String text) {
        BitSet secret = new BitSet(text.length());
        find(text, secret);
        Patterns.find(text, secret, true);
        return replaced(text, secret);
    }

    /** Marks the characters of what it has learnt. */
    void find(String text, BitSet secret) {
        for (int i = 0; i + SHORTEST <= text.length(); i++) {
            int beginning = beginning(text, i);
            if (beginnings.get(beginning & 0xffff)) {
                for (String known : byBeginning.getOrDefault(beginning, List.of())) {
                    if (text.startsWith(known, i) && isWhole(known, text, i)) {
                        secret.set(i, i + known.length());
                    }
                }
            }
        }
    }

    private static boolean isWhole(String known, String text, int at) {
        boolean isCommon = WORD.matcher(known).matches() || PIN.matcher(known).matches();
        if (known.length() >= FOUND_ANYWHERE || !isCommon) {
            return true;
        }
        int end = at + known.length();
        return (at == 0 || !Character.isLetterOrDigit(text.charAt(at - 1)))
                && (end == text.length() || !Character.isLetterOrDigit(text.charAt(end)));
    }

    /** With what is marked masked. */
    static String replaced(String text, BitSet secret) {
        StringBuilder shown = new StringBuilder(text.length());
        int at = 0;
        for (int from = secret.nextSetBit(0); from >= 0; from = secret.nextSetBit(at)) {
            shown.append(text, at, from).append(MASK);
            at = secret.nextClearBit(from);
        }
        return shown.append(text, at, text.length()).toString();
    }

    /**
     * Finds what looks like a secret: queries and user information of URLs, values of what is called password, token, secret or key,
     * authorizations, JSON Web Tokens and private keys. Takes linear time, whatever the text.
     */
    static final class Patterns {
        /** But for the variables PWD and OLDPWD, which are directories. */
        private static final String PWD = "(?-i:(?!PWD[:=])|(?<=[A-Za-z0-9_])(?<!(?<![A-Za-z0-9_])OLD))pwd";

        private static final String NAME = "(?:passw|passphrase|" + PWD
                + "|secret|token|credential|authorization|api[-_]?key|access[-_]?key|private[-_]?key"
                + "|signing[-_]?key)[A-Za-z0-9_.-]{0,40}";

        /** What precedes the value. */
        private static final Pattern NAMED =
                Pattern.compile("(?i)" + NAME + "\\\\{0,2}[\"']?[ \\t]{0,3}[:=][ \\t]{0,3}(?=[^ \\t\\r\\n])");

        /** What the C library, shells and programs say of something, which nobody takes for a secret. */
        private static final Pattern ERROR = Pattern.compile("(?i)(?:no such file|permission denied|access denied"
                + "|is a directory|not a directory|cannot open|can't open|(?:file )?not found|read-only file system"
                + "|operation not permitted|no space left on device|too many open files|input/output error|file exists"
                + "|file name too long|too many levels of symbolic links|connection (?:refused|reset|timed out)"
                + "|authentication (?:failed|required)|(?:is )?(?:not set|missing|required|invalid|expired|empty)"
                + "(?![^\\s,;.)]))(?![A-Za-z0-9])");

        private static final Pattern SAID_OF = Pattern.compile(":[ \\t]+$");

        private static final Pattern OPTION =
                Pattern.compile("(?i)-[A-Za-z0-9_-]{0,40}" + NAME + "[ \\t]{1,3}(?=[^ \\t\\r\\n-])");
        private static final Pattern SCHEME =
                Pattern.compile("(?i)\\b(?:bearer|basic)[ \\t]{1,3}([A-Za-z0-9._~+/=-]{4,4096})");
        private static final Pattern WEB_TOKEN =
                Pattern.compile("(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\\.[A-Za-z0-9_.-]{1,8192}");
        private static final Pattern PRIVATE_KEY = Pattern.compile("-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----");
        private static final String END_OF_KEY = "-----END";

        /** In characters. */
        private static final int LONGEST_KEY = 20_000;

        private Patterns() {}

        /**
         * Marks the characters that are secret.
         *
         * @param users whether the name of a URL's user is secret, too, and not its password alone
         */
        static void find(String text, BitSet secret, boolean users) {
            urls(text, secret, users);
            named(NAMED.matcher(text), text, secret);
            named(OPTION.matcher(text), text, secret);
            groups(SCHEME.matcher(text), 1, secret);
            groups(WEB_TOKEN.matcher(text), 0, secret);
            keys(text, secret);
        }

        /** Whether the value of something with this name, such as an option, is a secret. */
        static boolean isNameOfSecret(String name) {
            return NAMED.matcher(name + "=x").find();
        }

        private static void groups(Matcher found, int group, BitSet secret) {
            while (found.find()) {
                secret.set(found.start(group), found.end(group));
            }
        }

        private static void named(Matcher found, String text, BitSet secret) {
            // Where values end that have others in them, which end there, too: it is not looked for anew for each of
            // them.
            int endOfWord = 0;
            int endOfLine = 0;
            while (found.find()) {
                if (isError(found, text)) {
                    continue;
                }
                int from = found.end();
                boolean line = found.group().regionMatches(true, 0, "authorization", 0, 13);
                int at = from;
                while (at < text.length() && text.charAt(at) == '\\') {
                    at++;
                }
                if (at < text.length() && isQuote(text.charAt(at))) {
                    mark(text, from, endOfQuoted(text, at, at > from), secret);
                    continue;
                }
                int known = line ? endOfLine : endOfWord;
                int end =
                        at < known ? known : Math.max(endOfUnquoted(text, at, line), Math.min(from + 1, text.length()));
                mark(text, from, end, secret);
                endOfLine = line ? end : endOfLine;
                endOfWord = line ? endOfWord : end;
            }
        }

        /** Of private keys, which end as they should, or with the text, and have no quotes. */
        private static void keys(String text, BitSet secret) {
            Matcher begin = PRIVATE_KEY.matcher(text);
            int end = 0;
            int quote = 0;
            for (int from = 0; from < text.length() && begin.find(from); ) {
                from = begin.end();
                // Looked for once each, not anew for each beginning.
                end = next(text, END_OF_KEY, from, end);
                quote = next(text, "\"", from, quote);
                if (end <= quote && end - from <= LONGEST_KEY) {
                    secret.set(from, end);
                    from = end;
                }
            }
        }

        /** Where something is from there on, if it is not known to be; the end of the text when it is not there. */
        private static int next(String text, String wanted, int from, int known) {
            if (known >= from) {
                return known;
            }
            int found = text.indexOf(wanted, from);
            return found < 0 ? text.length() : found;
        }

        /** Whether what follows is said of what has this name: {@code /run/secrets/token: No such file or directory}. */
        private static boolean isError(Matcher found, String text) {
            return SAID_OF.matcher(found.group()).find()
                    && ERROR.matcher(text).region(found.end(), text.length()).lookingAt();
        }

        /** What a parser calls a token may be a mere bracket. */
        private static boolean hasLetterOrDigit(String text, int from, int end) {
            for (int i = from; i < end; i++) {
                if (Character.isLetterOrDigit(text.charAt(i))) {
                    return true;
                }
            }
            return false;
        }

        private static boolean isQuote(char c) {
            return c == '"' || c == '\'';
        }

        private static void mark(String text, int from, int end, BitSet secret) {
            if (hasLetterOrDigit(text, from, end)) {
                secret.set(from, end);
            }
        }

        /** Where the value ends whose quote is here: at the next one, or with the line. */
        private static int endOfQuoted(String text, int quote, boolean escaped) {
            for (int i = quote + 1; i < text.length(); i++) {
                char c = text.charAt(i);
                if (isEndOfLine(c)) {
                    return i;
                }
                if (c == text.charAt(quote) && (escaped || text.charAt(i - 1) != '\\')) {
                    return escaped ? i - 1 : i;
                }
            }
            return text.length();
        }

        /** Where the value ends that begins here: with the word or, for an authorization, with the line. */
        private static int endOfUnquoted(String text, int from, boolean line) {
            for (int i = from; i < text.length(); i++) {
                char c = text.charAt(i);
                if (isEndOfLine(c) || c == '"' || (!line && (Character.isWhitespace(c) || ",;&}'".indexOf(c) >= 0))) {
                    return i;
                }
            }
            return text.length();
        }

        private static boolean isEndOfLine(char c) {
            return c == '\n' || c == '\r';
        }

        /** Marks queries, fragments and passwords. */
        static void urls(String text, BitSet secret, boolean users) {
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
                users(text, colon, query >= 0 ? query : end, secret, users);
                from = Math.max(end, colon + 3);
            }
        }

        /** Of every URL within this one: the path of a proxy may be another URL. */
        private static void users(String text, int colon, int end, BitSet secret, boolean whole) {
            for (int next = colon; next >= 0 && next < end; next = text.indexOf("://", next + 3)) {
                int at = -1;
                for (int i = next + 3; i < end && text.charAt(i) != '/'; i++) {
                    if (text.charAt(i) == '@') {
                        at = i;
                    }
                }
                if (at < 0) {
                    continue;
                }
                int password = text.indexOf(':', next + 3) + 1;
                boolean alone = password == 0 || password > at;
                // A token stands there without a name: what is left is the name of a user.
                int from = whole || (alone && SecretForms.has(text.substring(next + 3, at))) ? next + 3 : password;
                if (at > from && (from == next + 3 || !alone)) {
                    secret.set(from, at);
                }
            }
        }

        private static boolean isOfUrl(char c) {
            return c > ' ' && c != '"' && c != '<' && c != '>' && c != '`';
        }
    }
}

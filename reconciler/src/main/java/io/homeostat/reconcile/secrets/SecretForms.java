package io.homeostat.reconcile.secrets;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * By which names and forms arguments and variables are secrets. Stricter than {@link SecretMask}, which has to do with logs, where most
 * long words are harmless. Takes linear time, whatever the text.
 */
public final class SecretForms {
    private static final Splitter PARTS =
            Splitter.onPattern("[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])").omitEmptyStrings();

    private static final ImmutableSet<String> WORDS = ImmutableSet.of(
            "pass", "pwd", "pw", "auth", "authorization", "bearer", "apikey", "privatekey", "credentials");
    /** As environments write them, in one. */
    private static final ImmutableSet<String> KEYS =
            ImmutableSet.of("masterkey", "sessionkey", "secretkey", "encryptionkey", "hostkey", "sshkey", "accesskey");

    /** Such variables and options say where a secret is. */
    private static final ImmutableSet<String> PLACES =
            ImmutableSet.of("file", "path", "dir", "directory", "sock", "socket");

    private static final ImmutableSet<String> DIRECTORIES = ImmutableSet.of("PWD", "OLDPWD");

    /** The password of {@code user:password@host}, also within a URL; an image's digest is none. */
    private static final Pattern LOGIN = Pattern.compile(
            "[^\\s:/@\"']{1,64}+:(?!//)([^\\s/\"'@]{1,512}(?:@[^\\s/\"'@]{1,512}){0,4})@(?!sha256:)[A-Za-z0-9\\[_-]");

    /** Keys of clouds and forges, and addresses that are secrets themselves. */
    private static final Pattern ISSUED = Pattern.compile(
            "\\b(?:A(?:KIA|SIA)[A-Z0-9]{12,}|gh[opsur]_\\w{16,}|github_pat_\\w{16,}|glpat-[\\w-]{16,}|xox[a-z]-[\\w-]{8,}"
                    + "|AIza[\\w-]{30,}|[rs]k_(?:live|test)_\\w{8,}|sk-[\\w-]{16,})|hooks\\.slack\\.com/services/(\\S+)");
    /** mysql's and others' option with its value. */
    private static final Pattern ATTACHED =
            Pattern.compile("(?<!\\S)-p(?=[A-Za-z]*+[0-9])(?=[0-9]*+[A-Za-z])([^\\s/=-]{5,})");

    /** curl's option with its value, within a line for a shell; a number is a group, a path is socat's. */
    private static final Pattern LOGIN_OPTION = Pattern.compile(
            "(?<!\\S)(?:-u|--(?:proxy-)?user)(?:[ \\t]{1,3}|=)[\"']?[\\w.@-]{1,64}+:(?!/|[0-9]++(?![^\\s\"']))([^\\s\"']++)");

    /** The same in one word. Many single words begin like that, so the password has to look like one. */
    private static final Pattern ATTACHED_LOGIN = Pattern.compile(
            "(?<!\\S)-u[\\w.@-]{1,64}+:(?=[^\\s/\"'0-9]*+[0-9])(?=[^\\s/\"'A-Za-z]*+[A-Za-z])([^\\s/\"']{5,})");

    private static final Pattern WORD =
            Pattern.compile("(?<!sha256[:=])(?<![A-Za-z0-9+/_.~-])[A-Za-z0-9+/_.~-]{20,}+=*");
    private static final Pattern RUN = Pattern.compile("[A-Za-z0-9+]{20,}+");

    private SecretForms() {}

    /** Whether what has this name is a secret: {@code DB_PASSWORD}, {@code --api-key}, {@code authToken}. */
    public static boolean isName(String name) {
        List<String> parts = PARTS.splitToList(name);
        if (parts.isEmpty() || DIRECTORIES.contains(name)) {
            return false;
        }
        String last = last(parts);
        if (PLACES.contains(last)) {
            return false;
        }
        boolean isKey = last.equals("key")
                && parts.size() > 1
                && !parts.get(parts.size() - 2).equalsIgnoreCase("public");
        return isKey
                || last.endsWith("pass")
                || KEYS.contains(last)
                || parts.stream().anyMatch(part -> WORDS.contains(part.toLowerCase(Locale.ROOT)))
                || SecretMask.Patterns.isNameOfSecret(name.endsWith("=") ? name.substring(0, name.length() - 1) : name);
    }

    private static String last(List<String> parts) {
        return Iterables.getLast(parts).toLowerCase(Locale.ROOT);
    }

    /** Whether something of it has the form of a secret. */
    static boolean has(String text) {
        BitSet secret = new BitSet(text.length());
        find(text, secret);
        return !secret.isEmpty();
    }

    /** Marks the characters that have the form of a secret. */
    static void find(String text, BitSet secret) {
        groups(LOGIN.matcher(text), secret);
        groups(ISSUED.matcher(text), secret);
        groups(ATTACHED.matcher(text), secret);
        groups(LOGIN_OPTION.matcher(text), secret);
        groups(ATTACHED_LOGIN.matcher(text), secret);
        Matcher word = WORD.matcher(text);
        while (word.find()) {
            if (isOfUrl(text, word.start())) {
                segments(word.group(), word.start(), secret);
            } else if (!isPath(text, word.start()) && hasRandomRun(word.group())) {
                secret.set(word.start(), word.end());
            }
        }
    }

    /** The first group of what is found, or the whole. */
    private static void groups(Matcher found, BitSet secret) {
        while (found.find()) {
            int group = found.groupCount() > 0 && found.group(1) != null ? 1 : 0;
            secret.set(found.start(group), found.end(group));
        }
    }

    private static boolean isOfUrl(String text, int at) {
        return text.startsWith("//", at) && at > 0 && text.charAt(at - 1) == ':';
    }

    /** A key in the path of a URL gives away nothing else of it. */
    private static void segments(String path, int at, BitSet secret) {
        int from = 0;
        for (String segment : Splitter.on('/').split(path)) {
            if (hasRandomRun(segment)) {
                secret.set(at + from, at + from + segment.length());
            }
            from += segment.length() + 1;
        }
    }

    private static boolean isPath(String text, int at) {
        return text.startsWith("/", at)
                || text.startsWith("./", at)
                || text.startsWith("../", at)
                || text.startsWith("~/", at);
    }

    /** Letters and digits without a break that alternate as nobody names things. */
    private static boolean hasRandomRun(String word) {
        Matcher run = RUN.matcher(word);
        while (run.find()) {
            String text = run.group();
            int changes = 0;
            boolean digits = false;
            boolean letters = false;
            for (int i = 0; i < text.length(); i++) {
                digits |= Character.isDigit(text.charAt(i));
                letters |= Character.isLetter(text.charAt(i));
                changes += i > 0 && isBreak(text.charAt(i - 1), text.charAt(i)) ? 1 : 0;
            }
            if (digits && letters && changes * 4 >= text.length()) {
                return true;
            }
        }
        return false;
    }

    /** A capital letter before a small one begins a word. */
    private static boolean isBreak(char before, char after) {
        return kind(before) != kind(after) && !(Character.isUpperCase(before) && Character.isLowerCase(after));
    }

    private static int kind(char c) {
        return Character.isDigit(c) ? 0 : Character.isUpperCase(c) ? 1 : 2;
    }
}

package io.homeostat.reconcile.secrets;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Takes out of a text what is secret, wherever it turns up, such as in a workload's own log: what it was told of, also where JSON has
 * escaped it, and what looks like a secret ({@link SecretPatterns}). What is too ordinary to be searched for ({@link #isOrdinary}) is
 * only left out where it is declared: it would be found in everything.
 */
public final class SecretMask {
    public static final String MASK = "(masked)";

    private static final int SHORTEST = 4;
    private static final int SHORTEST_NUMBER = 6;

    /** Shorter words are only found as whole words. */
    private static final int FOUND_ANYWHERE = 8;

    private static final Pattern NUMBER = Pattern.compile("[0-9.,:+-]*");
    private static final Pattern WORD = Pattern.compile("[A-Za-z]*");
    private static final Set<String> SWITCHES =
            Set.of("true", "false", "null", "none", "auto", "enabled", "disabled", "debug", "info", "warn", "error");

    private final int shortest;
    private final Set<String> secrets = new HashSet<>();
    private final Map<Integer, List<String>> byBeginning = new HashMap<>();
    private final BitSet beginnings = new BitSet(1 << 16);

    /** Finds whatever is not ordinary. */
    public SecretMask() {
        this(SHORTEST);
    }

    /** @param shortest shorter texts are not learnt, in characters */
    public SecretMask(int shortest) {
        this.shortest = shortest;
    }

    /** From here on this text is found; an ordinary one isn't. */
    public void learn(String secret) {
        if (secret.length() < shortest || isOrdinary(secret)) {
            return;
        }
        remember(secret);
        remember(new String(JsonStringEncoder.getInstance().quoteAsString(secret)));
    }

    /** Too short, a small number, or the word of a switch. */
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

    /** The text with every secret replaced. What overlaps is replaced as one, so that no end of any of them remains. */
    public String mask(String text) {
        BitSet secret = new BitSet(text.length());
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
        SecretPatterns.find(text, secret);
        return replaced(text, secret);
    }

    private static boolean isWhole(String known, String text, int at) {
        if (known.length() >= FOUND_ANYWHERE || !WORD.matcher(known).matches()) {
            return true;
        }
        int end = at + known.length();
        return (at == 0 || !Character.isLetterOrDigit(text.charAt(at - 1)))
                && (end == text.length() || !Character.isLetterOrDigit(text.charAt(end)));
    }

    private static String replaced(String text, BitSet secret) {
        StringBuilder shown = new StringBuilder(text.length());
        int at = 0;
        for (int from = secret.nextSetBit(0); from >= 0; from = secret.nextSetBit(at)) {
            shown.append(text, at, from).append(MASK);
            at = secret.nextClearBit(from);
        }
        return shown.append(text, at, text.length()).toString();
    }
}

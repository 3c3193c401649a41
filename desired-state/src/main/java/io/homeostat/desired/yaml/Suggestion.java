package io.homeostat.desired.yaml;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;

/** Finds the word that somebody who mistyped one probably meant. */
public final class Suggestion {
    /** A word that was left off after so many characters is guessed. */
    private static final int BEGINNING = 4;

    private Suggestion() {}

    /** Empty when nothing known is close to it. */
    public static Optional<String> of(String written, Collection<String> known) {
        String best = null;
        int fewest = Math.max(1, Math.min(3, written.length() / 3)) + 1;
        if (written.length() > 64) {
            return Optional.empty();
        }
        for (String word : known) {
            int edits = edits(written.toLowerCase(Locale.ROOT), word.toLowerCase(Locale.ROOT));
            if (edits < fewest) {
                fewest = edits;
                best = word;
            }
        }
        if (best == null && written.length() >= BEGINNING) {
            return known.stream().filter(word -> word.startsWith(written)).findFirst();
        }
        return Optional.ofNullable(best);
    }

    /** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
    private static int edits(String a, String b) {
        int[][] edits = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    edits[i][j] = i + j;
                    continue;
                }
                boolean same = a.charAt(i - 1) == b.charAt(j - 1);
                int fewest = edits[i - 1][j - 1] + (same ? 0 : 1);
                fewest = Math.min(fewest, Math.min(edits[i - 1][j], edits[i][j - 1]) + 1);
                if (i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1)) {
                    fewest = Math.min(fewest, edits[i - 2][j - 2] + 1);
                }
                edits[i][j] = fewest;
            }
        }
        return edits[a.length()][b.length()];
    }
}

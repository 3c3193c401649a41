package io.homeostat.reconcile.command.output;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Columns as wide as their widest cell, two blanks between them; the last one is as long as it likes. */
public final class Table {
    private static final String GAP = "  ";

    private final List<List<String>> rows = new ArrayList<>();

    public Table(String... header) {
        rows.add(List.of(header));
    }

    public void row(String... cells) {
        // One name of a control plane would make every row as wide as itself.
        int last = cells.length - 1;
        rows.add(IntStream.rangeClosed(0, last)
                .mapToObj(i -> Text.oneLine(i == last ? cells[i] : BriefText.of(cells[i])))
                .toList());
    }

    /** Without colours; the header is the first one. */
    public ImmutableList<String> lines() {
        int columns = rows.getFirst().size();
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        ImmutableList.Builder<String> lines = ImmutableList.builder();
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                line.append(i == 0 ? "" : GAP).append(Strings.padEnd(row.get(i), widths[i], ' '));
            }
            lines.add(line.toString().stripTrailing());
        }
        return lines.build();
    }

    public void print(PrintStream out, Ansi ink) {
        ImmutableList<String> lines = lines();
        out.println(ink.paint(Ansi.Colour.BOLD, lines.getFirst()));
        lines.stream().skip(1).forEach(out::println);
    }
}

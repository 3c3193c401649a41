package io.homeostat.e2e.bench;

import io.homeostat.e2e.bench.Figure.Limit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * Bars as SVG, for light and dark pages: the length is the median, the line at its end reaches to p99, and a stroke across is the goal
 * for the median. The scale is logarithmic where a linear one would show nothing of the small ones.
 */
final class Chart {
    private static final int WIDTH = 860;
    private static final int LEFT = 110;
    private static final int RIGHT = 130;
    private static final int BAR = 16;
    private static final int GAP = 6;
    private static final int TITLE = 26;
    private static final int BETWEEN = 10;
    private static final double TOO_WIDE = 30;

    private static final String STYLE = """
            <style>
              text { font: 13px system-ui, sans-serif; fill: #1f2328; }
              .title { font-weight: 600; }
              .number { fill: #59636e; }
              .ours { fill: #0969da; }
              .peer { fill: #afb8c1; }
              .tail { stroke: #59636e; stroke-width: 1.5; }
              .goal { stroke: #cf222e; stroke-width: 2; }
              @media (prefers-color-scheme: dark) {
                text { fill: #f0f6fc; }
                .number { fill: #9198a1; }
                .ours { fill: #4493f8; }
                .peer { fill: #545d68; }
                .tail { stroke: #9198a1; }
                .goal { stroke: #f85149; }
              }
            </style>
            """;

    private final StringBuilder body = new StringBuilder();
    private int y = BETWEEN;

    private Chart() {}

    /** Each figure with a scale of its own, one below the other. */
    static String of(List<List<Samples>> figures) {
        Chart chart = new Chart();
        figures.forEach(chart::add);
        return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
                %s%s</svg>
                """.formatted(WIDTH, chart.y, WIDTH, chart.y, STYLE, chart.body);
    }

    private void add(List<Samples> subjects) {
        if (subjects.isEmpty()) {
            return;
        }
        Figure figure = subjects.getFirst().figure();
        Scale scale = Scale.of(subjects);
        y += TITLE / 2;
        text(
                0,
                y,
                "title",
                figure.title()
                        + (figure.unit().isEmpty() ? "" : ", " + figure.unit())
                        + (scale.isLogarithmic() ? " (logarithmic)" : ""));
        y += TITLE / 2;
        for (Samples one : subjects) {
            bar(one, scale);
            y += BAR + GAP;
        }
        y += BETWEEN;
    }

    private void bar(Samples one, Scale scale) {
        double middle = y + BAR / 2.0;
        double p50 = scale.x(one.of(Statistic.P50));
        double p99 = scale.x(one.of(Statistic.P99));
        text(0, middle + 4, one.isOurs() ? "title" : "", one.subject());
        element(
                "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>",
                one.isOurs() ? "ours" : "peer", LEFT, y, Math.max(1, p50 - LEFT), BAR);
        element("<line class=\"tail\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", p50, middle, p99, middle);
        OptionalDouble goal = goal(one);
        if (goal.isPresent()) {
            double x = scale.x(goal.getAsDouble());
            element("<line class=\"goal\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", x, y - 3, x, y + BAR + 3);
        }
        double end = Math.max(p50, p99);
        if (goal.isPresent()) {
            end = Math.max(end, scale.x(goal.getAsDouble()));
        }
        text(
                end + GAP,
                middle + 4,
                "number",
                Results.number(one.of(Statistic.P50))
                        + (one.values().size() > 1 ? " (p99 " + Results.number(one.of(Statistic.P99)) + ")" : ""));
    }

    private static OptionalDouble goal(Samples one) {
        return one.limits().stream()
                .filter(limit -> !limit.isBound() || one.limits().stream().allMatch(Limit::isBound))
                .filter(limit -> limit.of() == Statistic.P50 || one.values().size() == 1)
                .mapToDouble(Limit::most)
                .findFirst();
    }

    private void text(double x, double baseline, String style, String words) {
        element("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", style, x, baseline, escaped(words));
    }

    private void element(String format, Object... values) {
        body.append(String.format(Locale.ROOT, format, values)).append('\n');
    }

    private static String escaped(String words) {
        return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }

    /** From values to places. */
    private record Scale(double least, double most, boolean isLogarithmic) {
        static Scale of(List<Samples> subjects) {
            List<Double> shown = new ArrayList<>();
            for (Samples one : subjects) {
                shown.add(one.of(Statistic.P50));
                shown.add(one.of(Statistic.P99));
                goal(one).ifPresent(shown::add);
            }
            double most = shown.stream().mapToDouble(value -> value).max().orElse(1);
            double least = shown.stream()
                    .mapToDouble(value -> value)
                    .filter(value -> value > 0)
                    .min()
                    .orElse(1);
            boolean logarithmic = most / least > TOO_WIDE;
            return new Scale(
                    logarithmic ? Math.pow(10, Math.floor(Math.log10(least))) : 0, most <= 0 ? 1 : most, logarithmic);
        }

        double x(double value) {
            double part =
                    isLogarithmic ? Math.log(Math.max(value, least) / least) / Math.log(most / least) : value / most;
            return LEFT + part * (WIDTH - LEFT - RIGHT);
        }
    }
}

package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Streams;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.reconcile.cli.Syntax.Option;
import io.homeostat.reconcile.cli.Syntax.Parameter;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The manual, in the language of man(7): homeostat(1), a page for each command, and homeostat.yaml(5) and homeostat-agent.yaml(5) for
 * files. All of it is said by what reads command lines and documents, so that it can't be wrong about them. The same program makes the
 * same bytes.
 */
final class ManualPages {
    private static final String EXIT_STATUS = "Exit status: ";

    private ManualPages() {}

    /**
     * Writes them to a directory, which is made if need be.
     *
     * @throws CommandFailure when they can't be written there
     */
    static void write(Path directory) {
        try {
            Files.createDirectories(directory);
            for (Map.Entry<String, String> page : all().entrySet()) {
                Files.writeString(directory.resolve(page.getKey()), page.getValue());
            }
        } catch (IOException e) {
            throw new CommandFailure("cannot write the manual to " + directory + ": " + CommandFailure.reason(e), e);
        }
    }

    /** Names of files and their content. */
    static Map<String, String> all() {
        Map<String, String> pages = new TreeMap<>();
        pages.put("homeostat.1", program());
        visible().forEach(verb -> pages.put(name(verb) + ".1", command(verb)));
        pages.put(
                "homeostat.yaml.5",
                fields(
                        "homeostat.yaml",
                        "what a machine is to run",
                        Explain.tops().stream().filter(kind -> !isAgent(kind)).toList()));
        pages.put(
                "homeostat-agent.yaml.5",
                fields(
                        "homeostat-agent.yaml",
                        "how the agent works, in /etc/homeostat/agent.yaml",
                        Explain.tops().stream().filter(ManualPages::isAgent).toList()));
        return pages;
    }

    private static boolean isAgent(String kind) {
        return kind.equals("Agent");
    }

    private static Stream<Verb> visible() {
        return Arrays.stream(Verb.values()).filter(verb -> !verb.hidden());
    }

    private static String name(Verb verb) {
        return "homeostat-" + verb.word();
    }

    private static String program() {
        Page page = new Page("homeostat", 1, "keeps this machine at its declared state");
        page.section("SYNOPSIS").line("\\fBhomeostat\\fR [\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...");
        page.section("DESCRIPTION")
                .text(
                        "Workloads are declared in documents, see homeostat.yaml(5), or by a control plane. Homeostat observes what is"
                                + " really there, computes the difference and acts until the two agree: once with apply, for ever with run.");
        page.section("COMMANDS").text("Each has a page of its own, such as homeostat-apply(1).");
        visible().forEach(verb -> page.item("\\fB" + Page.escaped(verb.word()) + "\\fR", verb.description()[0]));
        page.section("OPTIONS").text("Before or after the command.");
        Syntax.root().options().forEach(option -> page.item(names(option), option.description()));
        page.item("\\fB\\-V\\fR, \\fB\\-\\-version\\fR", "Print the version.");
        page.section("FILES");
        page.item("\\fI/etc/homeostat/agent.yaml\\fR", "How the agent works, see homeostat-agent.yaml(5).");
        page.item("\\fI/etc/homeostat/desired.d\\fR", "Documents that the agent enforces, see homeostat.yaml(5).");
        page.item("\\fI/var/lib/homeostat\\fR", "The state, with what is installed.");
        page.item("\\fI/run/homeostat\\fR", "Sockets.");
        page.text("Who is not root has them in the directories of XDG: ~/.config/homeostat, ~/.local/state/homeostat.");
        page.section("ENVIRONMENT");
        page.item("\\fBHOMEOSTAT_JAVA_HOME\\fR", "Another Java runtime than the usual one.");
        page.item("\\fBNO_COLOR\\fR", "No colours, whatever its value.");
        page.section("EXIT STATUS");
        page.text(
                "0 when what was asked for is so, 1 when it is not, 64 after a mistake in the call; more in the page of each command.");
        page.section("SEE ALSO")
                .text(visible().map(verb -> name(verb) + "(1)").collect(Collectors.joining(", "))
                        + ", homeostat.yaml(5), homeostat-agent.yaml(5)");
        return page.toString();
    }

    private static String command(Verb verb) {
        Syntax syntax = Syntax.of(verb);
        ImmutableSet<String> everywhere = Syntax.root().options().stream()
                .flatMap(option -> option.names().stream())
                .collect(ImmutableSet.toImmutableSet());
        List<Option> options = syntax.options().stream()
                .filter(option -> Collections.disjoint(option.names(), everywhere))
                .toList();
        ImmutableList<String> description = ImmutableList.copyOf(verb.description());
        Page page = new Page(name(verb), 1, withoutStop(description.getFirst()));
        page.section("SYNOPSIS")
                .line(Streams.concat(
                                Stream.of("\\fBhomeostat " + Page.escaped(verb.word()) + "\\fR"),
                                options.stream().map(ManualPages::synopsis),
                                syntax.parameters().stream().map(ManualPages::synopsis),
                                Stream.of("\\fB\\-\\-\\fR \\fICOMMAND\\fR...").filter(_ -> syntax.takesProgram()))
                        .collect(Collectors.joining(" ")));
        page.section("DESCRIPTION");
        for (String line : description) {
            if (!line.startsWith(EXIT_STATUS)) {
                page.paragraph(line);
            }
        }
        if (!options.isEmpty() || !syntax.parameters().isEmpty()) {
            page.section("OPTIONS");
            for (Parameter parameter : syntax.parameters()) {
                page.item("\\fI" + Page.escaped(parameter.label()) + "\\fR", parameter.description());
            }
            options.forEach(option -> page.item(names(option), option.description()));
        }
        page.text("Those of every command are in homeostat(1).");
        description.stream()
                .filter(line -> line.startsWith(EXIT_STATUS))
                .forEach(line -> page.section("EXIT STATUS").text(line.substring(EXIT_STATUS.length())));
        page.section("SEE ALSO").text("homeostat(1), homeostat.yaml(5)");
        return page.toString();
    }

    private static String withoutStop(String sentence) {
        return sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence;
    }

    private static String synopsis(Option option) {
        String shortest = "\\fB" + Page.escaped(option.names().getFirst()) + "\\fR"
                + (option.isFlag() ? "" : " \\fI" + Page.escaped(option.label()) + "\\fR");
        String once = option.required() ? shortest : "[" + shortest + "]";
        return option.many() ? once + "..." : once;
    }

    private static String synopsis(Parameter parameter) {
        String label = "\\fI" + Page.escaped(parameter.label()) + "\\fR";
        return (parameter.required() ? label : "[" + label + "]") + (parameter.many() ? "..." : "");
    }

    private static String names(Option option) {
        return option.names().stream()
                        .map(name -> "\\fB" + Page.escaped(name) + "\\fR")
                        .collect(Collectors.joining(", "))
                + (option.isFlag() ? "" : " \\fI" + Page.escaped(option.label()) + "\\fR");
    }

    private static String fields(String name, String what, List<String> kinds) {
        Page page = new Page(name, 5, what);
        page.section("DESCRIPTION")
                .text("Each field with its type and what it is when left out, as homeostat explain shows it.");
        for (String kind : kinds) {
            page.section(kind.toUpperCase(Locale.ROOT));
            describe(page, Explain.explanation(kind));
        }
        page.section("SEE ALSO").text("homeostat(1), homeostat-explain(1), homeostat-validate(1)");
        return page.toString();
    }

    private static void describe(Page page, Explanation explained) {
        page.text(explained.description());
        for (Explanation.Member member : explained.fields()) {
            String fallback = member.defaultText();
            page.item(
                    "\\fB" + Page.escaped(member.name()) + "\\fR <" + Page.escaped(member.type()) + ">"
                            + (member.required() ? " required" : "")
                            + (fallback == null ? "" : " default: " + Page.escaped(fallback)),
                    member.description());
        }
        for (Explanation.Member member : explained.fields()) {
            Explanation inside = Explain.explanation(explained.path() + "." + member.name());
            if (!inside.fields().isEmpty()) {
                page.subsection(inside.path());
                describe(page, inside);
            }
        }
    }

    /** A page that grows from its head to its foot. */
    private static final class Page {
        private final StringBuilder text = new StringBuilder();

        Page(String name, int section, String what) {
            text.append(".TH \"%s\" \"%d\" \"\" \"homeostat %s\" \"Homeostat\"\n"
                    .formatted(escaped(name.toUpperCase(Locale.ROOT)), section, escaped(Version.current())));
            // Words are not broken: what is typed must be found by whoever searches for it.
            text.append(".nh\n.ad l\n");
            section("NAME").line(escaped(name) + " \\- " + escaped(what));
        }

        Page section(String heading) {
            text.append(".SH \"").append(escaped(heading)).append("\"\n");
            return this;
        }

        Page subsection(String heading) {
            return line(".SS \"" + escaped(heading) + "\"");
        }

        /** As it is, with what it says to the formatter. */
        Page line(String formatted) {
            text.append(formatted).append('\n');
            return this;
        }

        Page text(String plain) {
            return line(".PP").line(escaped(plain));
        }

        /** Lines that are aligned by blanks stay as they are. */
        Page paragraph(String plain) {
            return plain.contains("  ") ? verbatim(plain) : text(plain);
        }

        Page item(String formatted, String plain) {
            return line(".TP").line(formatted).line(plain.isEmpty() ? "\\&" : escaped(plain));
        }

        Page verbatim(String plain) {
            line(".PP").line(".nf");
            plain.lines().forEach(one -> line(escaped(one)));
            return line(".fi");
        }

        /** Without a meaning to the formatter. */
        static String escaped(String plain) {
            String text = plain.replace("\\", "\\e").replace("-", "\\-");
            return text.startsWith(".") || text.startsWith("'") ? "\\&" + text : text;
        }

        @Override
        public String toString() {
            return text.toString();
        }
    }
}

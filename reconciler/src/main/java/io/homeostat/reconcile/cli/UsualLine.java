package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.reconcile.cli.Arguments.Typed;
import io.homeostat.reconcile.cli.Syntax.Option;
import io.homeostat.reconcile.cli.Syntax.Parameter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A command line as it is usually typed, read in a moment: names of options in full, each value in a word of its own or after an equals
 * sign. Whatever else there is, mistakes as well, is left to {@link Usage}, which takes as long as many a command; what both read, they
 * read alike.
 */
record UsualLine(Verb verb, Arguments arguments) {
    private static final String DASH = "-";
    private static final String END_OF_OPTIONS = "--";

    /** Empty when it is not as usual. */
    static Optional<UsualLine> of(String[] args) {
        ListIterator<String> words = List.of(args).listIterator();
        Optional<Typed> whole = new Reader(Syntax.root(), words).read(true);
        if (whole.isEmpty() || !words.hasNext()) {
            return Optional.empty();
        }
        Optional<Verb> verb = Verb.of(words.next());
        return verb.flatMap(known -> new Reader(Syntax.of(known), words)
                .read(false)
                .map(command -> new UsualLine(known, new Arguments(whole.get(), command))));
    }

    private static boolean isOption(String word) {
        return word.startsWith(DASH) && !word.equals(DASH);
    }

    private static final class Reader {
        private final Syntax syntax;
        private final ListIterator<String> words;
        // Each option is one object, and a record's own hash is code that the JVM makes when it is first asked for, 8
        // ms long.
        private final Set<Option> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        private final Map<String, Object> values = new HashMap<>();
        private final List<String> parameters = new ArrayList<>();
        private final List<String> program = new ArrayList<>();

        Reader(Syntax syntax, ListIterator<String> words) {
            this.syntax = syntax;
            this.words = words;
        }

        /** @param untilWord ends before the first word that belongs to no option */
        Optional<Typed> read(boolean untilWord) {
            while (words.hasNext()) {
                String word = words.next();
                if (word.equals(END_OF_OPTIONS) && syntax.takesProgram()) {
                    words.forEachRemaining(program::add);
                } else if (isOption(word)) {
                    if (!readOption(word)) {
                        return Optional.empty();
                    }
                } else if (untilWord) {
                    words.previous();
                    break;
                } else if (word.isEmpty()) {
                    return Optional.empty();
                } else {
                    parameters.add(word);
                }
            }
            boolean isComplete =
                    syntax.options().stream().allMatch(option -> seen.contains(option) || !option.required());
            return isComplete && takesParameters()
                    ? Optional.of(new Typed(
                            ImmutableMap.copyOf(values),
                            ImmutableList.copyOf(parameters),
                            ImmutableList.copyOf(program)))
                    : Optional.empty();
        }

        private boolean takesParameters() {
            long atLeast =
                    syntax.parameters().stream().filter(Parameter::required).count();
            int atMost = syntax.parameters().stream().anyMatch(Parameter::many)
                    ? Integer.MAX_VALUE
                    : syntax.parameters().size();
            return parameters.size() >= atLeast && parameters.size() <= atMost;
        }

        private boolean readOption(String word) {
            int equals = word.indexOf('=');
            String name = equals < 0 ? word : word.substring(0, equals);
            Option option = syntax.option(name).orElse(null);
            if (option == null || name.equals(Syntax.HELP) || name.equals("--help")) {
                return false;
            }
            if (!seen.add(option) && !option.many()) {
                return false;
            }
            if (option.isFlag()) {
                option.names().forEach(each -> values.put(each, true));
                return equals < 0;
            }
            return equals < 0
                    ? words.hasNext() && takeValue(option, words.next()) && takeMore(option)
                    : !option.greedy() && takeValue(option, word.substring(equals + 1));
        }

        private boolean takeMore(Option option) {
            while (option.greedy() && words.hasNext()) {
                String word = words.next();
                if (isOption(word)) {
                    words.previous();
                    break;
                }
                if (!takeValue(option, word)) {
                    return false;
                }
            }
            return true;
        }

        private boolean takeValue(Option option, String word) {
            Optional<Object> value = word.isEmpty() || isOption(word)
                    ? Optional.empty()
                    : option.value().apply(word);
            value.ifPresent(one -> option.names().forEach(name -> put(option, name, one)));
            return value.isPresent();
        }

        private void put(Option option, String name, Object value) {
            if (!option.many()) {
                values.put(name, value);
                return;
            }
            List<Object> all = new ArrayList<>();
            if (values.get(name) instanceof List<?> before) {
                all.addAll(before);
            }
            all.add(value);
            values.put(name, all);
        }
    }
}

package io.homeostat.e2e.bench;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Declarations. */
final class Documents {
    private Documents() {}

    /** A process of a program that is on the machine. */
    static String process(String name, List<String> line) {
        String arguments = line.stream().skip(1).map(word -> '"' + word + '"').collect(Collectors.joining(", "));
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec: {install: local, entryPoint: %s, arguments: [%s]}
                """.formatted(name, line.getFirst(), arguments);
    }

    /** So many of the same. */
    static String processes(int count, List<String> line) {
        return IntStream.range(0, count)
                .mapToObj(number -> process("p" + number, line))
                .collect(Collectors.joining());
    }
}

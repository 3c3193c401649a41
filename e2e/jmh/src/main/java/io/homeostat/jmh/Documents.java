package io.homeostat.jmh;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Declarations of many processes, as somebody would write them. */
final class Documents {
    private Documents() {}

    static Texts texts(int count) {
        String text = IntStream.range(0, count).mapToObj("""
                        ---
                        apiVersion: homeostat.io/v1
                        kind: Process
                        metadata:
                          name: server-%d
                          labels: {team: sre, tier: "1"}
                        spec:
                          install: local
                          entryPoint: /usr/bin/server
                          arguments: ["--verbose", "--port", "8080"]
                          env: {FOO: bar}
                          limits: {memory: 256Mi, cpu: 20%%}
                          stop: {timeout: 10s}
                        """::formatted).collect(Collectors.joining());
        return new Texts(ImmutableList.of(new Input.Text("many.yaml", "many.yaml", null, text)), ImmutableList.of());
    }

    static ReadResult read(Texts texts) {
        ReadResult result = DocumentReader.parse(texts);
        if (!result.valid()) {
            throw new IllegalStateException(result.errors().toString());
        }
        return result;
    }
}

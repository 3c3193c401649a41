package io.homeostat.reconcile.secrets;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Workload;
import java.util.BitSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A declaration as {@code plan}, {@code diff}, {@code get} and {@code describe} show it. Fields that are marked as secret are replaced as a
 * whole; of arguments, commands and variables what its name or its form gives away as a secret; of any text the queries and passwords of
 * URLs. All else is shown, so that a review sees what changes.
 */
public final class ShownDeclaration {
    /** Shorter secrets also occur in other words; they are only replaced where they stand for themselves. */
    private static final int SHORTEST_ELSEWHERE = 8;

    private static final ImmutableList<String> COMMANDS =
            ImmutableList.of("/arguments", "/command", "/probe/exec/command", "/reload/exec/command");

    /** Who logs in there often does so by a token alone, in place of a name. */
    private static final ImmutableMap<String, String> ADDRESSES =
            ImmutableMap.of("/spec/source", "url", "/spec/probe/http", "url");

    private static final Pattern ASSIGNMENT =
            Pattern.compile("(-{0,2}[A-Za-z_][A-Za-z0-9_.-]{0,100}=)(.*)", Pattern.DOTALL);
    private static final Pattern LOGIN_OPTION = Pattern.compile("-u|--user|--proxy-user");
    private static final Pattern LOGIN = Pattern.compile("([^\\s:/]+:)(?=.*[^0-9])(\\S+)");

    private final JsonNode whole;
    private final Function<String, JsonNode> partly;
    private final SecretMask known = new SecretMask(SHORTEST_ELSEWHERE);

    private ShownDeclaration(JsonNode whole, Function<String, JsonNode> partly) {
        this.whole = whole;
        this.partly = partly;
    }

    /**
     * The stored form of a workload without its secrets.
     *
     * @param whole stands for a whole secret value
     * @param partly makes what stands for a text of what is left of it
     */
    public static ObjectNode of(Workload workload, JsonNode whole, Function<String, JsonNode> partly) {
        return new ShownDeclaration(whole, partly).shown(workload);
    }

    private ObjectNode shown(Workload workload) {
        ObjectNode document = (ObjectNode) DeclaredSecrets.tree(workload);
        if (document.path("spec") instanceof ObjectNode spec) {
            DeclaredSecrets.replaceMarked(workload, spec, whole);
            if (spec.path("env") instanceof ObjectNode env) {
                learnVariables(env);
                env.properties()
                        .forEach(variable -> variable.setValue(variable(variable.getKey(), variable.getValue())));
            }
            COMMANDS.forEach(command -> command(spec.at(command)));
        }
        ADDRESSES.forEach((object, name) -> {
            if (document.at(object) instanceof ObjectNode parent
                    && parent.path(name).isTextual()) {
                parent.set(name, urls(parent.path(name), true));
            }
        });
        everywhere(document);
        return document;
    }

    /** What a variable holds may be repeated in another, or in an argument. */
    private void learnVariables(ObjectNode env) {
        env.properties().stream()
                .filter(variable -> SecretForms.isName(variable.getKey()))
                .forEach(variable -> known.learn(variable.getValue().asText()));
    }

    private JsonNode variable(String name, JsonNode value) {
        if (!value.isTextual() || value.textValue().isEmpty()) {
            return value;
        }
        return SecretForms.isName(name) ? whole : text(value, forms(value.textValue()));
    }

    private void command(JsonNode node) {
        if (!(node instanceof ArrayNode words)) {
            return;
        }
        String before = "";
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i).asText();
            words.set(i, isValueOf(before, word) ? whole : text(words.get(i), word(before, word)));
            before = word;
        }
    }

    private static boolean isValueOf(String option, String word) {
        return option.startsWith("-")
                && option.indexOf('=') < 0
                && !word.startsWith("--")
                && !word.isEmpty()
                && SecretForms.isName(option);
    }

    private String word(String before, String word) {
        Matcher login = LOGIN.matcher(word);
        return LOGIN_OPTION.matcher(before).matches() && login.matches()
                ? login.group(1) + SecretMask.MASK
                : assigned(word);
    }

    /** The value of {@code --env=TOKEN=abc} is an assignment, too, that of {@code --user=name:password} a login. */
    private String assigned(String word) {
        Matcher assignment = ASSIGNMENT.matcher(word);
        if (!assignment.matches() || assignment.group(2).isEmpty()) {
            return forms(word);
        }
        String name = assignment.group(1);
        return name
                + (SecretForms.isName(name)
                        ? SecretMask.MASK
                        : word(name.substring(0, name.length() - 1), assignment.group(2)));
    }

    private String forms(String text) {
        BitSet secret = new BitSet(text.length());
        known.find(text, secret);
        SecretForms.find(text, secret);
        SecretMask.Patterns.find(text, secret, false);
        return SecretMask.replaced(text, secret);
    }

    private JsonNode text(JsonNode node, String shown) {
        return shown.equals(node.textValue()) ? node : shown.equals(SecretMask.MASK) ? whole : partly.apply(shown);
    }

    private JsonNode urls(JsonNode node, boolean users) {
        BitSet secret = new BitSet();
        SecretMask.Patterns.urls(node.textValue(), secret, users);
        return text(node, SecretMask.replaced(node.textValue(), secret));
    }

    private JsonNode everywhere(JsonNode node) {
        if (node.equals(whole)) {
            return node;
        }
        if (node.isTextual()) {
            return urls(node, false);
        }
        if (node instanceof ArrayNode list) {
            for (int i = 0; i < list.size(); i++) {
                list.set(i, everywhere(list.get(i)));
            }
        } else if (node instanceof ObjectNode object) {
            object.properties().forEach(field -> field.setValue(everywhere(field.getValue())));
        }
        return node;
    }
}

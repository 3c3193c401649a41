/** What a command is started with: variables, directories, options, signals; and how it ends. */
@NullMarked
package io.homeostat.reconcile.command.environment;

import org.jspecify.annotations.NullMarked;

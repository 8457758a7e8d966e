"""What ``kafka-rack what-if`` is made of: the options that say what is to be different, and the screen."""

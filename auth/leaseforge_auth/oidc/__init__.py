"""Single sign-on: people log in at an OpenID Connect provider and come back as accounts with roles."""
